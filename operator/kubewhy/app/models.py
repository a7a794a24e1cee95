"""The models that Investigations can name: the list's file read, and each entry made into a `Model` when used."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kubewhy import errors
from kubewhy.adapters import triage
from kubewhy.adapters.litellm_model import keys, model, runtime
from kubewhy.core import model_list, ports

TriageFactory = Callable[[str], ports.Model]
"""Makes the built-in model under the given name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LiteLLM:
    """What all LiteLLM models of a process share."""

    runtime: runtime.Runtime
    keyring: keys.KeyRing


def _triage(name: str) -> ports.Model:
    return triage.TriageModel(name=name)


def read(path: Path | None) -> model_list.ModelList:
    """The model list of a file, or the built-in one where none is configured.

    Raises:
        errors.ConfigError: the file can't be read or used; the text names it, the entry and the field.
    """
    if path is None:
        return model_list.built_in()
    try:
        with path.open("rb") as file:
            data = file.read(model_list.LARGEST_FILE + 1)
        text = data.decode()
    except OSError as error:
        raise errors.ConfigError(f"the model list {path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ConfigError(f"the model list {path} is not UTF-8") from None
    return model_list.read(text, source=str(path))


def build(
    entry: model_list.Entry,
    triage_factory: TriageFactory,
    litellm: LiteLLM,
    *,
    fallbacks: Sequence[model_list.LiteLLMEntry] = (),
) -> ports.Model:
    """The model of one entry. Building imports no LiteLLM and connects nowhere."""
    if isinstance(entry, model_list.TriageEntry):
        return triage_factory(entry.name)
    return model.LiteLLMModel(entry, litellm.runtime, litellm.keyring, fallbacks=fallbacks)


def load(
    file: str, environment: Mapping[str, str], *, triage_factory: TriageFactory = _triage
) -> Catalogue:
    """The operator's models by the list in `file` ("" means the built-in list); keys come from `environment`.

    Raises:
        errors.ConfigError: see `read`.
    """
    listed = read(Path(file) if file else None)
    return Catalogue(listed, environment, triage_factory=triage_factory)


class Catalogue:
    """All models of the operator, each made once, when it is first asked for.

    The first use of a LiteLLM entry begins to load LiteLLM in the background, so that it is there by the
    time of the first request; a list without such entries never loads it.
    """

    def __init__(
        self,
        listed: model_list.ModelList,
        environment: Mapping[str, str],
        *,
        triage_factory: TriageFactory = _triage,
    ) -> None:
        self._listed = listed
        self._triage_factory = triage_factory
        self._litellm = LiteLLM(runtime=runtime.Runtime(), keyring=keys.KeyRing(environment))
        self._built: dict[str, ports.Model] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names that `spec.model` may hold, sorted."""
        return tuple(sorted(self._listed.entries))

    @property
    def keys(self) -> tuple[str, ...]:
        """The providers' keys in use so far, for the redaction."""
        return self._litellm.keyring.seen

    def find(self, name: str) -> ports.Model:
        """The model of that name.

        Raises:
            errors.ConfigError: no entry has it; the text lists the known names. The Investigation is
                InvalidSpec; another model is never taken instead.
        """
        entry = self._listed.get(name)
        if name not in self._built:
            self._built[name] = self._build(entry)
        return self._built[name]

    async def close(self) -> None:
        """Cancel requests under way and close the connections to providers."""
        await self._litellm.runtime.stop()

    def _build(self, entry: model_list.Entry) -> ports.Model:
        if isinstance(entry, model_list.TriageEntry):
            return build(entry, self._triage_factory, self._litellm)
        self._litellm.runtime.start()
        fallbacks = self._listed.fallbacks(entry)
        self._learn(entry, *fallbacks)
        return build(entry, self._triage_factory, self._litellm, fallbacks=fallbacks)

    def _learn(self, *entries: model_list.LiteLLMEntry) -> None:
        """Read the keys once, so that they are redacted also before the first request."""
        for entry in entries:
            with contextlib.suppress(errors.ModelAuthFailed):
                self._litellm.keyring.read(entry)
