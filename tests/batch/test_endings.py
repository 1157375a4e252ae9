"""What is left to delete, and what its owner hears of it."""

from fairway.batch.actions import DeletePod, MarkDisrupted
from fairway.batch.endings import back_off_limit_note, ending_actions
from fairway.batch.failures import FailureDecision, LostNode
from fairway.testing import pod
from tests.batch.jobs import gang


def test_what_is_deleted_and_how() -> None:
    pods = [
        pod("runs", node="n0"),
        pod("on-lost", node="n1"),
        pod("told", node="n0", terminating=True),
        pod("told-on-lost", node="n1", terminating=True),
        pod("over", node="n0", phase="Succeeded"),
    ]
    decision = FailureDecision("Requeue", "lost n1", is_excused=True)
    lost = {"n1": LostNode("n1", 0.0)}
    assert ending_actions(gang(), decision, pods, lost) == [
        MarkDisrupted("default/runs", "DeletionByFairway", "lost n1"),
        DeletePod("default/runs", None, "lost n1", cause="Requeue"),
        MarkDisrupted("default/on-lost", "DeletionByFairway", "lost n1"),
        DeletePod("default/on-lost", None, "lost n1", cause="Requeue"),
    ]
    forced = [
        DeletePod(f"default/{name}", 0.0, "lost n1", is_forced=True, cause="Requeue")
        for name in ("on-lost", "told-on-lost")
    ]
    out_of_service = {"n1": LostNode("n1", 0.0, is_out_of_service=True)}
    for job, nodes in [(gang(), out_of_service), (gang(on_node_loss="force"), lost)]:
        actions = ending_actions(job, decision, pods, nodes)
        assert [each for each in actions if isinstance(each, DeletePod) and each.is_forced] == forced
    assert ending_actions(gang(), FailureDecision("RestartPod", "", ("default/runs",)), pods, lost) == [
        DeletePod("default/runs", cause="RestartPod")
    ]


def test_an_owner_hears_that_its_back_off_limit_is_used() -> None:
    decision = FailureDecision("Requeue", "lost n1", is_excused=True)
    note = back_off_limit_note(gang(), decision, ignores_disruptions=False)
    assert note is not None
    assert "podFailurePolicy" in note.words
    assert back_off_limit_note(gang(), decision, ignores_disruptions=True) is None
    assert back_off_limit_note(gang(), FailureDecision("RestartJob", "it failed"), ignores_disruptions=False) is None
