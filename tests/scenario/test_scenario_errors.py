from pathlib import Path
from typing import Any

import pytest
import yaml

from fairway.scenario.scenario import ScenarioError, decode_scenario, load_scenario
from fairway.scenario.scenario_file import API_VERSION, KIND

CLASSES = "classes: [{name: a, cpu: 1}]"
ARRIVALS = "arrivals: {pattern: even, count: 1, over: 1s}"


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        decode_scenario(f"# YAML, though it may begin with a brace\n{text}".encode(), "s.yaml")
    return str(caught.value)


def is_told(text: str, message: str) -> bool:
    """To the letter; "..." at the end stands for a list or words of another room."""
    return text.startswith(message.removesuffix("...")) if message.endswith("...") else text == message


def refusal_of_spec(spec: str) -> str:
    return refusal(f"{{apiVersion: {API_VERSION}, kind: {KIND}, spec: {spec}}}".replace("\n", " "))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "s.yaml: not a Scenario but empty", id="empty"),
        pytest.param("[1, 2]", "s.yaml: not a Scenario but [1, 2]", id="list"),
        pytest.param(
            "spec: {}",
            "s.yaml: apiVersion: missing; write apiVersion: fairway.dev/v1alpha1\n"
            "s.yaml: kind: missing; write kind: Scenario",
            id="no kind",
        ),
        pytest.param(
            "{apiVersion: v1, kind: Pod}",
            's.yaml: apiVersion: "v1" is not supported; allowed: fairway.dev/v1alpha1\n'
            's.yaml: kind: "Pod" is not supported; allowed: Scenario',
            id="pod",
        ),
        pytest.param("a: [", "s.yaml: not YAML: line 2, column 5: ...", id="broken yaml"),
        pytest.param(
            "{apiVersion: fairway.dev/v1alpha1, kind: Scenario, spec: {seed: 1, seed: 2}}",
            's.yaml: not usable YAML: line 2: "seed" stands twice in one object',
            id="twice",
        ),
        pytest.param(
            "{apiVersion: fairway.dev/v1alpha1, kind: Scenario, sepc: {}}",
            "s.yaml: sepc: unknown field; did you mean spec? Allowed: apiVersion, kind, metadata, spec",
            id="unknown at the top",
        ),
        pytest.param(
            "{apiVersion: fairway.dev/v1alpha1, kind: Scenario, metadata: {name: a/b}}",
            's.yaml: metadata.name: "a/b" is no name: no spaces, no slashes, 200 letters at most',
            id="name",
        ),
    ],
)
def test_files_that_are_no_scenarios_are_refused(text: str, message: str) -> None:
    assert is_told(refusal(text), message)


DURATION = 'a duration: seconds, or text such as "90s", "1h30m" or "2d"'


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param("[]", "spec: expected fields (seed, end, strict, ...", id="spec"),
        pytest.param(
            "{sede: 1}", "spec.sede: unknown field; did you mean seed? Allowed: seed, end, ...", id="did you mean"
        ),
        pytest.param("{seed: -1}", "spec.seed: expected an integer from 0 to 9223372036854775807, got -1", id="seed"),
        pytest.param("{seed: 1.5}", "spec.seed: expected an integer from 0 to 9223372036854775807, got 1.5", id="half"),
        pytest.param(
            "{seed: true}", "spec.seed: expected an integer from 0 to 9223372036854775807, got true", id="boolean seed"
        ),
        pytest.param("{end: soon}", f'spec.end: expected {DURATION}, got "soon"', id="end"),
        pytest.param("{end: -5}", f"spec.end: expected {DURATION}, got -5", id="negative end"),
        pytest.param("{end: -5s}", f'spec.end: expected {DURATION}, got "-5s"', id="negative text"),
        pytest.param("{end: 0s}", "spec.end: it ends before it begins; allowed: more than 0s", id="no time"),
        pytest.param("{strict: maybe}", 'spec.strict: expected true or false, got "maybe"', id="strict"),
        pytest.param(
            "{cluster: {nodes: {count: 3}}}",
            'spec.cluster.nodes: expected a list, got {"count": 3}',
            id="nodes is a list",
        ),
        pytest.param(
            "{cluster: {nodes: [{cpu: 4}]}}",
            "spec.cluster.nodes[0].count: missing; it is an integer from 0 to 1000000",
            id="count",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 3, name: same}]}}",
            "spec.cluster.nodes[0].name: must have {} once, for a number, since there are several nodes",
            id="one name",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1, cpu: lots}]}}",
            "spec.cluster.nodes[0].cpu: quantity 'lots' is not a number with an optional suffix...",
            id="cpu",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1, images: {a: much}}]}}",
            'spec.cluster.nodes[0].images["a"]: expected a quantity: a number, or text such as "250m" or "2Gi",'
            ' got "much"',
            id="image",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1, images: {a: -1}}]}}",
            'spec.cluster.nodes[0].images["a"]: must not be negative: -1',
            id="negative image",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1, taints: [{key: a, effect: NoSched}]}]}}",
            'spec.cluster.nodes[0].taints[0].effect: "NoSched" is unknown; did you mean NoSchedule?'
            " Allowed: NoSchedule, PreferNoSchedule, NoExecute",
            id="taint",
        ),
        pytest.param(
            "{cluster: {racks: {serversPerRack: 0}}}",
            "spec.cluster.racks.serversPerRack: expected an integer from 1 on, got 0",
            id="racks",
        ),
        pytest.param(
            "{cluster: {files: nodes.yaml}}", 'spec.cluster.files: expected a list, got "nodes.yaml"', id="files"
        ),
        pytest.param(
            "{workload: {}}",
            "spec.workload: says nothing that arrives; give one of files, synthetic, swf, openb",
            id="no source",
        ),
        pytest.param(
            "{workload: [{files: [a]}, {files: [b], swf: {file: c}}]}",
            "spec.workload[1]: has files and swf; make it a list of one each",
            id="two sources",
        ),
        pytest.param(
            "{workload: 3}", "spec.workload: expected fields (files, synthetic, ...", id="number for a workload"
        ),
        pytest.param("{workload: {swf: {}}}", "spec.workload.swf.file: missing; it is a string", id="no file"),
        pytest.param(
            "{workload: {swf: {file: a, sise: used}}}",
            "spec.workload.swf.sise: unknown field; did you mean size? Allowed: procsPerPod, ...",
            id="option of a reader",
        ),
        pytest.param(
            "{workload: {openb: {pods: a, times: now}}}",
            'spec.workload.openb.times: "now" is unknown; allowed: recorded, order',
            id="choice of a reader",
        ),
        pytest.param(
            "{workload: {files: [a], start: 2h, stop: 1h}}",
            "spec.workload.stop: it is not after start, which is 7200s",
            id="window",
        ),
        pytest.param(
            "{workload: {files: [a], timeScale: 0}}",
            "spec.workload.timeScale: expected a number above 0, got 0",
            id="scale",
        ),
        pytest.param(
            f"{{workload: {{synthetic: {{{CLASSES}, arrivals: {{count: 3}}}}}}}}",
            "spec.workload.synthetic.arrivals.pattern: missing; it is one of even, poisson, diurnal, bursts",
            id="no pattern",
        ),
        pytest.param(
            f"{{workload: {{synthetic: {{{CLASSES}, arrivals: {{pattern: poison}}}}}}}}",
            'spec.workload.synthetic.arrivals.pattern: "poison" is unknown; did you mean poisson?'
            " Allowed: even, poisson, diurnal, bursts",
            id="pattern",
        ),
        pytest.param(
            f"{{workload: {{synthetic: {{{CLASSES}, arrivals: {{pattern: even, peak: 3}}}}}}}}",
            "spec.workload.synthetic.arrivals.peak: unknown field; allowed: pattern, count, over, rate, start",
            id="field of another pattern",
        ),
        pytest.param(
            f"{{workload: {{synthetic: {{{CLASSES}, arrivals: {{pattern: even, count: 3}}}}}}}}",
            "spec.workload.synthetic.arrivals: must give two of count, over and rate",
            id="what the reader objects to",
        ),
        pytest.param(
            f"{{workload: {{synthetic: {{{ARRIVALS}, classes: [{{name: a, cpu: {{kind: normal}}}}]}}}}}}",
            'spec.workload.synthetic.classes[0].cpu.kind: "normal" is unknown; did you mean lognormal?'
            " Allowed: choices, lognormal, exponential, uniform",
            id="distribution",
        ),
        pytest.param(
            "{workload: [{synthetic: {arrivals: {pattern: even, count: 1, over: 1h}, classes: [{name: a}]}},"
            " {synthetic: {arrivals: {pattern: even, count: 1, over: 1h}, classes: [{name: b}, {name: a}]}}]}",
            "spec.workload[1].synthetic.name: spec.workload[0] has pods called pod-a-0, ... already; give another",
            id="same pods",
        ),
        pytest.param(
            "{schedulers: []}",
            "spec.schedulers: empty; give one scheduler or more, or leave the field out",
            id="no scheduler",
        ),
        pytest.param(
            "{schedulers: [{name: a}, {name: a}]}",
            'spec.schedulers[1].name: "a" is the name of spec.schedulers[0] already',
            id="same name",
        ),
        pytest.param(
            "{schedulers: [{name: a b}]}", 'spec.schedulers[0].name: "a b" is no name: letters, ...', id="no word"
        ),
        pytest.param(
            "{schedulers: [{config: ''}]}",
            "spec.schedulers[0].config: empty; allowed: a file, or a KubeSchedulerConfiguration",
            id="empty config",
        ),
        pytest.param(
            "{schedulers: [{config: 3}]}",
            "spec.schedulers[0].config: expected a string or names and values, got 3",
            id="config",
        ),
        pytest.param(
            "{schedulers: [{config: {kind: Pod}}]}",
            'spec.schedulers[0].config.kind: "Pod" is not supported; allowed: KubeSchedulerConfiguration',
            id="kind of config",
        ),
        pytest.param(
            "{schedulers: [{config: {profiles: [{plugins: {score: {enabled: [{name: Nope}]}}}]}}]}",
            'spec.schedulers[0].config.profiles[0].plugins.score.enabled[0].name: no plugin is called "Nope"; ...',
            id="plugin",
        ),
        pytest.param(
            "{schedulers: [{pause: [{from: 1h}]}]}",
            f"spec.schedulers[0].pause[0].for: missing; it is {DURATION}",
            id="pause",
        ),
        pytest.param(
            "{schedulers: [{pause: [{from: 1h, for: 0}]}]}",
            "spec.schedulers[0].pause[0].for: no pause at all; allowed: more than 0s",
            id="no pause",
        ),
        pytest.param(
            "{policies: {}, profiles: {}}",
            "spec.profiles: is called policies now, which is there too; leave this one out",
            id="both words",
        ),
        pytest.param(
            "{policies: {packed: {config: {parallelism: 0}}}}",
            'spec.policies["packed"].config.parallelism: 0 is out of range; allowed: 1 or more',
            id="policy",
        ),
        pytest.param(
            "{policies: {packed: {profiles: []}}}",
            'spec.policies["packed"].profiles: unknown field; allowed: config, batch',
            id="config is a field",
        ),
        pytest.param(
            '{policies: {"a,b": {}}}', 'spec.policies["a,b"]: "a,b" is no name: letters, ...', id="policy name"
        ),
        pytest.param(
            "{kubelet: {startLatencie: 1s}}",
            "spec.kubelet.startLatencie: unknown field; did you mean startLatency?"
            " Allowed: startLatency, imagePullLatency, terminationLatency",
            id="kubelet",
        ),
        pytest.param(
            "{faults: [{at: 1h, node: a, action: explode}]}",
            'spec.faults[0].action: "explode" is unknown; allowed: lose, return, cordon, uncordon, drain, add, remove',
            id="action",
        ),
        pytest.param(
            "{faults: [{at: 1h, action: lose}]}",
            "spec.faults[0]: says no node; give node (a name or pattern), labels, or both",
            id="fault without node",
        ),
        pytest.param(
            "{faults: [{at: 1h, node: a, action: uncordon, for: 5m}]}",
            "spec.faults[0].for: uncordon is not undone; allowed with: lose, cordon, drain, remove",
            id="nothing to undo",
        ),
        pytest.param(
            "{randomFaults: [{mtbf: 1h, mttr: 5m}]}",
            "spec.randomFaults[0].until: missing; without spec.end, say when these failures stop",
            id="endless failures",
        ),
        pytest.param(
            "{end: 1h, randomFaults: [{mtbf: 1ms, mttr: 5m}]}",
            "spec.randomFaults[0].mtbf: 0.001s is too short; allowed: 1s or more",
            id="too many failures",
        ),
        pytest.param(
            "{defragment: {share: 0.1}}",
            "spec.defragment: says no time; give at (a list of times) or every",
            id="defragment never",
        ),
        pytest.param(
            "{end: 2h, defragment: {at: [1h], every: 1h}}",
            "spec.defragment: has at and every; give one of them",
            id="defragment twice",
        ),
        pytest.param(
            "{defragment: {every: 1h}}",
            "spec.defragment.every: it would never stop; give spec.end, or at in its place",
            id="defragment for ever",
        ),
        pytest.param(
            "{end: 2h, defragment: {every: 0s}}",
            "spec.defragment.every: 0s is too short; allowed: 1s or more",
            id="defragment too often",
        ),
        pytest.param(
            "{defragment: {at: [soon]}}",
            f'spec.defragment.at[0]: expected {DURATION}, got "soon"',
            id="defragment when",
        ),
        pytest.param(
            "{defragment: {at: [1h], share: 1.5}}",
            "spec.defragment.share: expected a number above 0 up to 1, got 1.5",
            id="defragment share",
        ),
        pytest.param(
            "{defragment: {at: [1h], perNode: two}}",
            'spec.defragment.perNode: "two" is unknown; allowed: one, several',
            id="defragment per node",
        ),
        pytest.param(
            "{policies: {co: {config: {profiles: [{fairway: {gangs: {mode: coscheduling}}}]}}}}",
            'spec.policies["co"].config: mode coscheduling of fairway.gangs tries members again and again within one '
            "instant, and time would stand still; give the scheduler a decisionLatency, such as 10ms",
            id="members that never rest",
        ),
        pytest.param(
            "{record: {decisions: some}}",
            'spec.record.decisions: "some" is unknown; allowed: all, failed, none',
            id="record",
        ),
        pytest.param(
            "{record: {scores: -1}}", "spec.record.scores: expected an integer from 0 to 10000, got -1", id="scores"
        ),
    ],
)
def test_errors_name_the_field_and_what_is_allowed(spec: str, message: str) -> None:
    lines = refusal_of_spec(spec).splitlines()
    assert len(lines) == 1
    assert is_told(lines[0], f"s.yaml: {message}")


def test_all_errors_are_told_at_once() -> None:
    text = refusal_of_spec("{seed: x, cluster: {nods: []}, record: {queue: 3}}")
    assert [line.split(": ")[1] for line in text.splitlines()] == [
        "spec.seed",
        "spec.cluster.nods",
        "spec.record.queue",
    ]


def test_null_is_absent() -> None:
    data: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND}
    with_nulls = data | {"metadata": None, "spec": {"end": None, "seed": None, "cluster": None, "schedulers": None}}
    assert decode_scenario(with_nulls, "s.yaml") == decode_scenario(data, "s.yaml")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(ScenarioError) as caught:
        load_scenario(missing)
    assert str(caught.value) == f"{missing}: cannot be read: No such file or directory"


BROKEN = "# YAML\n{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, parallelism: 0}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "/c.yaml cannot be read: No such file or directory", id="missing"),
        pytest.param("a: [", "/c.yaml: not YAML: line 1, column 5: ", id="no yaml"),
        pytest.param("3", "c.yaml: not a KubeSchedulerConfiguration", id="number"),
        pytest.param("parallelism: 3", "c.yaml: apiVersion: missing; write apiVersion: kubescheduler", id="no kind"),
        pytest.param(BROKEN, "c.yaml: parallelism: 0 is out of range; allowed: 1 or more", id="wrong"),
    ],
)
def test_a_config_file_that_is_wrong_is_told_with_the_field_that_names_it(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "c.yaml").write_text(content)
    scenario = decode_scenario(
        {"apiVersion": API_VERSION, "kind": KIND, "spec": {"schedulers": [{"config": "c.yaml"}]}},
        str(tmp_path / "s.yaml"),
    )
    with pytest.raises(ScenarioError) as caught:
        scenario.configurations()
    where, _, text = str(caught.value).splitlines()[0].partition(": spec.schedulers[0].config: ")
    assert where == str(tmp_path / "s.yaml")
    assert message in text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            "{}", "spec.cluster: there is no node; give nodes, files or a snapshot with nodes, or openb", id="none"
        ),
        pytest.param(
            "{cluster: {files: [cut.json]}}",
            "spec.cluster: {folder}/cut.json: JSON is malformed at line 1, column 18: Input data was truncated...",
            id="cut file",
        ),
        pytest.param(
            "{cluster: {files: [none.yaml]}}",
            "spec.cluster.files: {folder}/none.yaml: cannot be read: No such file or directory",
            id="no file",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1}]}, workload: [{swf: {file: none.swf}}]}",
            "spec.workload[0].swf: {folder}/none.swf: cannot be read: No such file or directory",
            id="no log",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1}]}, workload: {swf: {file: none.swf, cpuPerProc: much}}}",
            "spec.workload.swf.cpuPerProc: quantity 'much' is not a number with an optional suffix...",
            id="option that makes no sense",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 1}]}, workload: {files: [none.yaml]}}",
            "spec.workload: {folder}/none.yaml: cannot be read: No such file or directory",
            id="no workload",
        ),
        pytest.param(
            "{cluster: {nodes: [{count: 2, name: 'n-{}'}, {count: 1, name: n-1, cpu: 1}]}}",
            "spec: nodes: Node n-1: is another one than in nodes; give one of them another name",
            id="same name",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_the_field_that_names_it(tmp_path: Path, spec: str, message: str) -> None:
    data = {"apiVersion": API_VERSION, "kind": KIND, "spec": yaml.safe_load(spec)}
    (tmp_path / "cut.json").write_text('{"kind": "Node", ')
    scenario = decode_scenario(data, str(tmp_path / "s.yaml"))
    with pytest.raises(ScenarioError) as caught:
        scenario.workload()
    expected = message.replace("{folder}", str(tmp_path))
    assert is_told(str(caught.value), f"{tmp_path / 's.yaml'}: {expected}")


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        ("{}", "spec.batch.queues: empty; give one queue or more, or leave batch out"),
        ("{queues: {q: {depht: 1}}}", 'spec.batch.queues["q"].depht: unknown field; did you mean depth? Allowed: ...'),
        (
            "{queues: {q: {limits: {default: 3h, max: 1h}}}}",
            'spec.batch.queues["q"].limits.default: 10800s is more than limits.max allows: 3600s',
        ),
        (
            "{queues: {q: {startTogether: [Jub]}}}",
            'spec.batch.queues["q"].startTogether: "Jub" is unknown; did you mean Job? Allowed: ...',
        ),
        (
            "{queues: {q: {aliases: {kueue: [lq]}}, r: {aliases: {kueue: [lq]}}}}",
            "spec.batch.queues[\"r\"].aliases.kueue: 'lq' is queue q already",
        ),
        (
            "{queues: {q: {extension: {max: 0s}}}}",
            'spec.batch.queues["q"].extension.max: has to be more than 0, not 0s',
        ),
        (
            "{queues: {q: {policy: interactive, discipline: walk}}}",
            'spec.batch.queues["q"].discipline: an interactive queue promises everybody a date: leave it out, ...',
        ),
        (
            "{queues: {q: {}}, windows: [{start: soon, duration: 1h}]}",
            "spec.batch.windows[0].start: 'soon' is no time such as 2026-12-01T06:00:00Z or 2h, from the beginning",
        ),
        (
            "{queues: {q: {}}, windows: [{start: '2030-01-01T06:00:00', duration: 1h}]}",
            "spec.batch.windows[0].start: '2030-01-01T06:00:00' does not say in which time zone; write ...",
        ),
        ("{queues: {q: {}}, windows: [{schedule: 0 6, duration: 1h}]}", "spec.batch.windows[0].schedule: ..."),
        (
            "{queues: {q: {}}, windows: [{schedule: 0 6 * * 1, timeZone: Mars, duration: 1h}]}",
            "spec.batch.windows[0].timeZone: ...",
        ),
        ("{queues: {q: {}}, windows: [{duration: 1h}]}", "spec.batch.windows[0].start: say when: ..."),
        (
            "{queues: {q: {}}, windows: [{start: 1h, duration: 1h, mode: harsh}]}",
            "spec.batch.windows[0].mode: ...",
        ),
        (
            "{queues: {q: {}}, reservations: [{start: soon, duration: 1h, for: {users: [ada]}}]}",
            "spec.batch.reservations[0].start: 'soon' is no time such as ...",
        ),
        (
            "{queues: {q: {}}, reservations: [{start: 1h, duration: 1h, for: {queues: [p]}}]}",
            "spec.batch.reservations[0].for.queues: no queue 'p'; there are q",
        ),
        (
            "{queues: {q: {}}, reservations: [{start: 1h, duration: 1h, for: {accounts: [p]}}]}",
            "spec.batch.reservations[0].for.accounts: no account 'p'",
        ),
        (
            "{queues: {q: {}}, accounts: {a: {parent: a}}}",
            'spec.batch.accounts["a"].parent: an account is not its own parent',
        ),
    ],
)
def test_queues_that_can_not_be_meant_name_the_field(batch: str, told: str) -> None:
    text = f"apiVersion: fairway.dev/v1alpha1\nkind: Scenario\nspec: {{batch: {batch}}}\n"
    with pytest.raises(ScenarioError) as caught:
        decode_scenario(text.encode(), "s.yaml")
    assert is_told(str(caught.value), f"s.yaml: {told}")


def test_a_policy_changes_what_it_names_of_the_queues() -> None:
    spec = "{batch: {queues: {q: {depth: 3}}}, policies: {walk: {batch: {queues: {q: {discipline: walk}}}}}}"
    text = f"apiVersion: fairway.dev/v1alpha1\nkind: Scenario\nspec: {spec}\n"
    scenario = decode_scenario(text.encode(), "s.yaml")
    default, walk = scenario.batch(), scenario.batch("walk")
    assert default is not None
    assert walk is not None
    assert (default.queues["q"].discipline, default.queues["q"].depth) == (None, 3)
    assert (walk.queues["q"].discipline, walk.queues["q"].depth) == ("walk", 3)
    with pytest.raises(ScenarioError, match=r'spec.policies\["walk"\].batch.queues\["q"\].depht'):
        decode_scenario(text.replace("discipline: walk", "depht: 1").encode(), "s.yaml")
