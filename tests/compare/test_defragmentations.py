"""What `sim`, `compare` and the report say about defragmentation."""

import re
from pathlib import Path

import pytest
import yaml

from fairway.cli.main import main
from fairway.experiments.gpu_policies import policy_config
from fairway.trace.openb_lookalike import write_lookalike


def scenario(folder: Path) -> str:
    write_lookalike(folder, num_nodes=12, num_pods=150)
    (nodes,) = folder.glob("openb_node_list*")
    spec = {
        "end": "6h",
        "cluster": {"openb": {"nodes": nodes.name}},
        "workload": {"openb": {"pods": "openb_pod_list_default.csv", "load": 0.8}},
        "schedulers": [{"config": policy_config("Random")}],
        "policies": {"fgd": {"config": policy_config("FGD")}},
        "defragment": {"at": ["1h", "2h"], "share": 0.2, "perNode": "several"},
    }
    path = folder / "gpus.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}))
    return str(path)


LINE = re.compile(
    r"note: (\w+): defragmented at (\S+): (\d+) pods? evicted, (\d+) of them not on a node again,"
    r" fragmentation ([\d.]+) GPUs before, ([\d.]+) GPUs after"
)


def test_sim_tells_before_and_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", scenario(tmp_path)]) == 0
    steps = [match.groups() for match in LINE.finditer(" ".join(capsys.readouterr().err.split()))]
    assert [step[0] for step in steps] == ["default", "default"]
    assert all(int(step[2]) > 0 for step in steps)


def test_compare_tells_them_and_the_page_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert main(["compare", scenario(tmp_path), "--html", str(page)]) == 0
    steps = [match.groups() for match in LINE.finditer(" ".join(capsys.readouterr().err.split()))]
    assert [step[0] for step in steps] == ["default", "default", "fgd", "fgd"]
    text = page.read_text()
    assert "<h2>Defragmentation</h2>" in text
    for step in steps:
        assert f"fragmentation {step[4]} GPUs before, {step[5]} GPUs after" in text
    assert text.count(">Defragmenting<") == 4
