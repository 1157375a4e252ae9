"""What docs/live.md and docs/deploying.md show is what the programs take."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from fairway.cli.run import run
from fairway.config import PluginEntry, decode_configuration, implemented_points
from fairway.live.api import exec_plugin
from fairway.live.extender_service.server import MAX_BODY_BYTES
from fairway.live.metrics.families import FAMILIES
from fairway.live.serving.authorization import REVIEWS_PER_SECOND
from fairway.live.serving.front_door import DoorLimits
from fairway.model.nesting import MAX_DEPTH
from fairway.model.text_file import EXPANDED_BYTES
from fairway.plugin import Plugin
from fairway.plugins.registry import REGISTRY
from tests.deploy.chart import MANIFESTS, ROOT, render

LIVE, DEPLOYING = ROOT / "docs" / "live.md", ROOT / "docs" / "deploying.md"
SECURITY = ROOT / "docs" / "security.md"


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    lines = [line for path in (LIVE, DEPLOYING) for block in blocks(path, "") for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.removeprefix("$ ").startswith("fairway run")]


@pytest.mark.parametrize("line", commands())
def test_commands_are_ones_that_fairway_takes(line: str) -> None:
    arguments = shlex.split(line, comments=True)[2:]
    with click.Context(run) as context:
        run.make_context("run", arguments, parent=context)


def test_every_flag_in_the_table_exists() -> None:
    known = {name for option in run.params for name in option.opts}
    table = re.findall(r"^\| `--.*$", LIVE.read_text(), re.MULTILINE)
    flags = {flag for row in table for flag in re.findall(r"`(--[a-z-]+)", row)}
    assert len(flags) > 10
    assert flags <= known


class PreferGreen(Plugin):
    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        raise NotImplementedError


OWN = {"green_policy:PreferGreen": PluginEntry(PreferGreen, implemented_points(PreferGreen))}


def test_configuration_of_the_extender_is_one_that_fairway_reads() -> None:
    policy, kube = blocks(LIVE, "yaml")[1:3]
    assert decode_configuration(policy.encode(), "policy.yaml", {**REGISTRY, **OWN}).profiles
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    found = decode_configuration({**header, **yaml.safe_load(kube)}, "kube", REGISTRY)
    assert (found.extenders[0].filter_verb, found.extenders[0].ignorable) == ("filter", True)


@pytest.mark.parametrize("text", blocks(DEPLOYING, "yaml"), ids=["profiles", "own plugin", "monitor", "policy"])
def test_values_are_ones_that_the_chart_takes(text: str) -> None:
    objects = render(yaml.safe_load(text))
    (config,) = [each["data"]["config.yaml"] for each in objects if each["kind"] == "ConfigMap"]
    assert decode_configuration(config.encode(), "config.yaml", {**REGISTRY, **OWN}).profiles


def test_metrics_in_the_table_exist() -> None:
    names = set(re.findall(r"`((?:scheduler|leader|rest)_[a-z_]+)(?:\{|`)", LIVE.read_text()))
    assert len(names) > 8
    assert names <= {family.name for family in FAMILIES}


def test_files_that_are_named_are_there() -> None:
    for path in (LIVE, DEPLOYING):
        names = re.findall(r"(?:deploy/[A-Za-z/.]+|\]\(([a-z]+\.md))", path.read_text())
        assert names
        for name in re.findall(r"deploy/[A-Za-z/.]+[A-Za-z]", path.read_text()):
            assert (ROOT / name).exists()
        for name in re.findall(r"\]\(([a-z]+\.md)", path.read_text()):
            assert (ROOT / "docs" / name).exists()


def test_image_that_is_replaced_is_the_one_in_the_manifests() -> None:
    (shown,) = re.findall(r"s\|(image: \S+)\|", DEPLOYING.read_text())
    assert MANIFESTS.read_text().count(shown) == 1


def test_limits_in_the_security_page_are_the_programs() -> None:
    text = " ".join(SECURITY.read_text().split())
    door = DoorLimits()
    for words in (
        f"{door.connections} connections",
        f"{door.accepts_per_second:g} new ones a second",
        f"{door.handshake_seconds:g} seconds for a handshake, {door.head_seconds:g} for a request's head, "
        f"{door.request_seconds:g} for a request, {door.idle_seconds:g} of idleness, {door.requests} requests at once",
        f"{REVIEWS_PER_SECOND:g} reviews a second",
        f"Bodies are at most {MAX_BODY_BYTES >> 20} MiB",
        f"A plugin has {exec_plugin.SECONDS:g} seconds",
        f"It may print {exec_plugin.MAX_BYTES >> 20} MiB",
        f"cut to {exec_plugin.SHOWN_CHARACTERS} characters",
        f"nested {MAX_DEPTH} deep",
        f"expand to {EXPANDED_BYTES >> 20} MiB",
    ):
        assert words in text


def test_targets_and_flags_in_the_security_page_exist() -> None:
    text = SECURITY.read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"`make ([a-z-]+)", text))
    assert {"lock", "sbom", "image"} <= targets
    assert all(f"\n{target}:" in makefile for target in targets)
    known = {name for option in run.params for name in option.opts} | {"--scheduler"}
    meant = {"--secure-port", "--trust-loopback", "--extender", "--client-ca-file", "--token-file", "--allow-plugins"}
    assert meant <= known
    assert all(f"`{flag}" in text for flag in meant)


@pytest.mark.parametrize("path", [SECURITY, LIVE, DEPLOYING, ROOT / "SECURITY.md", ROOT / "README.md"], ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = path if not name else path.parent / name
        assert target.exists(), link
        if heading:
            lines = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert heading in {re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-") for line in lines}, link
