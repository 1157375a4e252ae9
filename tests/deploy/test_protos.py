"""The modules of the stream's messages are those that their .proto files make."""

from pathlib import Path

import pytest

from deploy.protos import WIRE, make_protos


@pytest.mark.slow
def test_generated_modules_are_up_to_date(tmp_path: Path) -> None:
    made = make_protos(tmp_path)
    assert len(made) == 4
    for file in made:
        assert file.read_bytes() == (WIRE / file.name).read_bytes(), "run: make protos"
    assert {file.name for file in WIRE.glob("*_pb2*")} == {file.name for file in made}
