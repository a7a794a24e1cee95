from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubewhy.core.toolset_files import commands

HOSTILE = [
    "; rm -rf x",
    "$(id)",
    "`id`",
    "a\nb",
    "../../etc/passwd",
    "",
    "x" * 4096,
    "🙂",
    "{{7*7}}",
    "{% raw %}",
    "'\"\\ '",
    "\U000f00000\U000f0001",
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("echo {{ x }}", ["echo", "{}"]),
        ("echo '{{ x }}' z", ["echo", "{}", "z"]),
        ('echo --x="{{ x }}"z', ["echo", "--x={}z"]),
        (["echo", "{{ x }}"], ["echo", "{}"]),
        (["echo", "a {{ x }} b"], ["echo", "a {} b"]),
    ],
)
def test_a_value_stays_one_word_whatever_it_holds(
    value: str, template: str | list[str], words: list[str]
) -> None:
    rendered = commands.render(commands.parse(template), {"x": value})

    assert list(rendered) == [word.replace("{}", value) for word in words]


@given(st.text())
@example("\U000f00001\U000f0001")
def test_any_text_stays_one_word(value: str) -> None:
    command = commands.parse("echo =={{ x }} {{ y }}")

    assert commands.render(command, {"x": value, "y": "z"}) == ("echo", f"=={value}", "z")


@pytest.mark.parametrize("value", ["-x", "--server=https://evil", "-oyaml"])
def test_a_word_can_not_begin_with_the_dash_of_a_value(value: str) -> None:
    with pytest.raises(commands.TemplateFault, match="would become an option"):
        commands.render(commands.parse("kubectl get {{ x }}"), {"x": value})


def test_a_filter_can_not_bring_a_dash_to_the_front() -> None:
    with pytest.raises(commands.TemplateFault, match="would become an option"):
        commands.render(commands.parse("cat {{ x | trim }}"), {"x": "  -x"})


def test_a_dash_inside_a_word_is_harmless() -> None:
    assert commands.render(commands.parse("grep -e={{ x }}"), {"x": "-v"}) == ("grep", "-e=-v")


def test_conditions_see_the_real_values() -> None:
    command = commands.parse("get{% if all == 'yes' %} -A{% elif ns %} -n {{ ns }}{% endif %} pods")

    assert commands.render(command, {"all": "yes"}, absent=["ns"]) == ("get", "-A", "pods")
    assert commands.render(command, {"all": "no", "ns": "a b"}) == ("get", "-n", "a b", "pods")
    assert commands.render(command, {}, absent=["ns", "all"]) == ("get", "pods")


def test_an_absent_value_leaves_no_empty_word_but_an_empty_one_does() -> None:
    command = commands.parse("cmd {{ x }} --y={{ x }}")

    assert commands.render(command, {}, absent=["x"]) == ("cmd", "--y=")
    assert commands.render(command, {"x": ""}) == ("cmd", "", "--y=")


def test_a_list_drops_a_word_whose_value_is_absent() -> None:
    command = commands.parse(["cmd", "{{ x }}", ""])

    assert commands.render(command, {}, absent=["x"]) == ("cmd", "")


def test_an_unknown_name_is_a_fault() -> None:
    with pytest.raises(commands.TemplateFault, match="'x' is undefined"):
        commands.render(commands.parse("cmd {{ x }}"), {})


@pytest.mark.parametrize(
    ("value", "word"), [(5, "5"), (0.5, "0.5"), (True, "true"), (False, "false")]
)
def test_numbers_and_switches_print_as_programs_write_them(value: object, word: str) -> None:
    assert commands.render(commands.parse("cmd {{ x }}"), {"x": value}) == ("cmd", word)


def test_lists_need_join() -> None:
    assert commands.render(commands.parse("cmd {{ x | join(',') }}"), {"x": ["a", "b c"]}) == (
        "cmd",
        "a,b c",
    )
    with pytest.raises(commands.TemplateFault, match="filter join"):
        commands.render(commands.parse("cmd {{ x }}"), {"x": ["a"]})


@pytest.mark.parametrize(
    ("template", "needed"),
    [
        ("cmd {{ x }}", {"x": True}),
        ("cmd{% if x %} {{ x }}{% endif %}", {"x": False}),
        ("cmd {{ x | default('a') }}", {"x": False}),
        ("cmd {{ x | d(y) }}", {"x": False, "y": True}),
        ("cmd {{ x if y else 'z' }}", {"x": False, "y": False}),
        ("cmd {{ x }}{% if x %}{{ x }}{% endif %}", {"x": True}),
        ("cmd{% if x is defined %} {{ namespace }}{% endif %}", {"x": False, "namespace": False}),
        ("cmd {{ range }}", {"range": True}),
    ],
)
def test_parameters_are_inferred(template: str, needed: dict[str, bool]) -> None:
    assert commands.parse(template).placeholders == needed


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("a | b", "a pipe"),
        ("a && b", "&"),
        ("a; b", "several commands"),
        ("a > b", "a redirect"),
        ("a < b", "a redirect"),
        ("a $(b)", r"\$, an expansion"),
        ('a "$HOME"', r"\$, an expansion"),
        ("a ${B}", r"\$, an expansion"),
        ("a `b`", "command substitution"),
        ('a "`b`"', "command substitution"),
        ("a\nb", "several lines"),
        ("(a)", "a subshell"),
        ("A=b c", "sets a variable"),
        ("a ~/b", "~"),
        ("a # b", "#"),
        ("a{% if x %} | b{% endif %}", "a pipe"),
        ("a {{ env.X }}", "uses env"),
        ("a {{ config }}", "uses config"),
        ("a {{ request_context }}", "uses request_context"),
        ("a {% for i in x %}{{ i }}{% endfor %}", "uses For"),
        ("a {{ x.__class__ }}", "uses Getattr"),
        ("a {{ x[0] }}", "uses Getitem"),
        ("a {{ x() }}", "uses Call"),
        ("a {{ 9 ** 9 ** 9 }}", "uses Pow"),
        ("a {{ 'x' * 9999999999 }}", "uses Mul"),
        ("a {% set x = 1 %}", "uses Assign"),
        ("a {% include 'x' %}", "uses Include"),
        ("a {{ x | tojson }}", "the filter tojson"),
        ("a {{ x is divisibleby 3 }}", "the test divisibleby"),
    ],
)
def test_what_needs_a_shell_or_more_of_jinja_is_never_run(template: str, reason: str) -> None:
    command = commands.parse(template)

    with pytest.raises(commands.TemplateFault, match=reason):
        commands.render(command, dict.fromkeys(command.placeholders, "v"))


@pytest.mark.parametrize(
    "template",
    [
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
        "grep 'a|b' 'x;y' \"a>b\" 'cost: $5'",
        "printf a\\|b",
        "a b \\\n  c",
        "awk '{print $1}' f",
    ],
)
def test_quoted_signs_of_a_shell_are_plain_text(template: str) -> None:
    assert commands.parse(template).review == ""


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("a 'b", "split into words"),
        ("a {{ x", "can't be read"),
        ("a {% if x %}", "can't be read"),
        ("{{ x }} a", "program itself"),
        ("pre{{ x }} a", "program itself"),
        ("", "is empty"),
        ([], "is empty"),
        ("a \U000f0000", "private use"),
        ("a {{ " + "(" * 5000 + "x" + ")" * 5000 + " }}", "nested too deeply"),
    ],
)
def test_unreadable_templates_are_faults(template: str | list[str], message: str) -> None:
    with pytest.raises(commands.TemplateFault, match=message):
        commands.parse(template)


def test_a_branch_with_an_open_quote_is_a_fault_when_it_is_taken() -> None:
    command = commands.parse("a{% if x %} '{% endif %}{% if y %} '{% endif %}")

    with pytest.raises(commands.TemplateFault, match="split into words"):
        commands.render(command, {"x": "1"}, absent=["y"])


def test_a_rendered_command_has_a_limit() -> None:
    command = commands.parse(["echo", *["{{ x }}" for _ in range(3)], "y" * commands.LONGEST + "y"])

    with pytest.raises(commands.TemplateFault, match="longer than"):
        commands.render(command, {"x": "1"})
