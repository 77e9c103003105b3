"""docs/doctor.md and docs/exit-codes.md say what the code does."""

from pathlib import Path

from chaoskafka.doctor.reference import renewed
from chaoskafka.errors import GRAVEST_FIRST, ExitCode

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examinations_are_up_to_date() -> None:
    document = (DOCS / "doctor.md").read_text(encoding="utf-8")
    renew = "python -m chaoskafka.doctor.reference docs/doctor.md"
    assert renewed(document) == document, f"renew it with: {renew}"


def test_every_exit_code_has_a_row_and_a_section() -> None:
    document = (DOCS / "exit-codes.md").read_text(encoding="utf-8")
    for code in ExitCode:
        assert f"| {int(code)} | {code.name.lower()} |" in document
        assert f"\n## {int(code)}: {code.name.lower()}\n" in document
    order = ", ".join(str(int(code)) for code in GRAVEST_FIRST)
    assert f"of {order}." in document
