"""What operators say about jobs, as a run keeps it."""

from __future__ import annotations

import json

import pytest

from fairway.batch.settings import BatchSettings, read_settings
from fairway.scenario.batch_section import BatchSection, batch_settings
from fairway.scenario.fields import decode_struct

SECTION = {
    "queues": {
        "batch": {
            "quota": {"cpu": "400", "nvidia.com/gpu": 64},
            "limits": {"default": "1h", "max": "48h", "overTime": "90s"},
            "weights": {"age": 5, "class": 0, "maxAge": "7d"},
            "nodes": {"selector": {"pool": "batch"}},
            "failure": {"rules": [{"on": "exitCodes", "do": "Requeue", "codes": [3], "after": "1m"}]},
            "perUser": {"running": 3, "resources": {"memory": "1.5Gi"}},
            "accounts": {"default": "physics", "from": ["namespace"]},
        },
        "inter": {"policy": "interactive"},
    },
    "accounts": {
        "physics": {"shares": 10, "users": {"ada": {"shares": "parent"}}, "budget": {"amount": 10.5}},
        "course": {"parent": "physics", "weights": {"cpu": 1, "memory": 0.25}, "billing": "max"},
    },
    "windows": [{"start": "4h", "duration": "1h", "nodes": {"selector": {"rack": "r7"}}, "mode": "drain"}],
    "reservations": [{"start": "2h", "duration": "30m", "nodes": {"count": 2}, "for": {"users": ["ada"]}}],
    "interval": "250ms",
}


def settings() -> BatchSettings:
    section = decode_struct(SECTION, BatchSection, "spec.batch", [])
    made = batch_settings(section)
    assert made is not None
    return made


def test_settings_are_the_same_after_they_were_written_and_read() -> None:
    written = json.dumps(settings().document())
    assert read_settings(json.loads(written)) == settings()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        pytest.param([], "Expected `object`", id="no mapping"),
        pytest.param({"queues": {"q": {"limits": {"max": "soon"}}}}, "soon", id="no duration"),
        pytest.param({"queues": {"q": {"policy": "best"}}}, "best", id="no policy"),
    ],
)
def test_what_is_no_settings_is_refused(document: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_settings(document)
