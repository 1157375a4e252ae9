"""`fairway run --feature-gates`: kube-scheduler's flag, as far as it means something here."""

import pytest

from tests.cli.trial_files import Folder

MISTAKES = {
    "a gate that nothing would come of": ("OpportunisticBatching=false", "OpportunisticBatching=false: not supported"),
    "a gate that there is not": (
        "GangsScheduling=true",
        "Kubernetes 1.36 has no gate GangsScheduling; did you mean GangScheduling?",
    ),
    "a gate without what it needs": ("GangScheduling=true", "GangScheduling=true needs GenericWorkload=true"),
    "no value": ("GangScheduling", "'GangScheduling' is not NAME=true or NAME=false"),
}


@pytest.mark.parametrize(("flag", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named_before_anything_is_done(folder: Folder, flag: str, words: str) -> None:
    printed = folder.run("run", "--feature-gates", flag)
    assert printed.code == 2
    assert f"--feature-gates: {words}" in printed.err
