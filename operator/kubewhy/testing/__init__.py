"""Public fakes of the ports, for the tests of kubewhy and of whoever extends it.

Each fake records what it was asked and gives back what the test put in; none looks at a clock or a
network. `ScriptedModel` plays the same scripts as the tests' own OpenAI-compatible server, so one
scenario runs in-process and over HTTP.
"""

from kubewhy.testing.fakes import (
    FakeClock,
    FakeHttpReader,
    FakeProcessRunner,
    FakeTool,
    InMemoryJournal,
)
from kubewhy.testing.model import ScriptedModel
from kubewhy.testing.script import Call, Fault, Script, Turn

__all__ = [
    "Call",
    "FakeClock",
    "FakeHttpReader",
    "FakeProcessRunner",
    "FakeTool",
    "Fault",
    "InMemoryJournal",
    "Script",
    "ScriptedModel",
    "Turn",
]
