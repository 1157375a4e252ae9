"""The shape of a scenario file: apiVersion fairway.dev/v1alpha1, kind Scenario.

Structs with the file's fields, their defaults and what they mean. `fields` decodes into them,
`checks` says what the types cannot, `schema` publishes them. The options of trace readers are the
readers' own structs, with the files to read added. Durations are seconds inside, "1h30m" or a number in the file.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from fairway.model import Quantity
from fairway.model.duration import Duration
from fairway.record import RecordOptions
from fairway.record.options import Keep
from fairway.scenario.batch_section import BatchSection
from fairway.scenario.data_parts import CopyChange, DatasetGroup, ReadCosts
from fairway.sim.controllers import ControllerSettings
from fairway.sim.defragment import PerNode
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.node_lifecycle import FaultAction
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.trace import NodeGroup, OpenbOptions, Racks, SwfOptions, SyntheticSpec

__all__ = [
    "API_VERSION",
    "KIND",
    "ClusterSource",
    "ControllerTimes",
    "Defragment",
    "Fault",
    "GeneratedNodes",
    "KubeletTimes",
    "OpenbNodes",
    "OpenbPods",
    "Pause",
    "Policy",
    "RandomFault",
    "Recording",
    "ScenarioFile",
    "ScenarioMeta",
    "ScenarioPart",
    "ScenarioSpec",
    "SchedulerSpec",
    "SwfLog",
    "WorkloadSource",
]

API_VERSION: Final = "fairway.dev/v1alpha1"
KIND: Final = "Scenario"
KUBELET: Final = KubeletSettings()
CONTROLLERS: Final = ControllerSettings()
SCHEDULER: Final = SchedulerSettings()
RECORD: Final = RecordOptions()

MAX_COUNT: Final = 10_000_000  # of nodes, or of anything else that a file multiplies
Count: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_COUNT)]
Factor: TypeAlias = Annotated[float, Meta(gt=0)]
Config: TypeAlias = str | dict[str, Any]
"""A KubeSchedulerConfiguration: the path of its file, or itself."""


class ScenarioPart(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A piece of a scenario."""


class GeneratedNodes(NodeGroup, frozen=True, kw_only=True, rename="camel"):
    """So many equal nodes."""

    images: Annotated[dict[str, Quantity], Meta(description="Images on their disks from the start, with sizes.")] = {}
    joins: Annotated[Duration, Meta(description="When they join the cluster; 0: there from the start.")] = Duration(0)


class OpenbNodes(ScenarioPart, frozen=True, kw_only=True):
    """The node list of the openb trace."""

    nodes: Annotated[str, Meta(description="The CSV file of nodes.")]
    share: Annotated[
        float, Meta(gt=0, le=1, description="Only this share of the nodes, of every model and size alike.")
    ] = 1.0


class ClusterSource(ScenarioPart, frozen=True, kw_only=True):
    """The nodes, and what is there at the start. Several of these add up."""

    nodes: Annotated[tuple[GeneratedNodes, ...], Meta(description="Groups of equal nodes, generated.")] = ()
    files: Annotated[tuple[str, ...], Meta(description="Manifests: files, or directories of them.")] = ()
    snapshot: Annotated[
        tuple[str, ...], Meta(description="What kubectl get ... -o json or -o yaml gave; pods on nodes keep running.")
    ] = ()
    openb: Annotated[OpenbNodes | None, Meta(description="The nodes of the openb trace.")] = None
    datasets: Annotated[
        tuple[DatasetGroup, ...], Meta(description="Groups of datasets, generated, on nodes drawn from the seed.")
    ] = ()
    racks: Annotated[Racks | None, Meta(description="Put nodes without a rack into racks.")] = None
    prices: Annotated[
        str | dict[str, float],
        Meta(description="What an hour of a node costs, by its name (a pattern) or instance type; or a file of that."),
    ] = {}


class OpenbPods(OpenbOptions, frozen=True, kw_only=True, rename="camel"):
    """A pod list of the openb trace, and how to read it."""

    pods: Annotated[str, Meta(description="The CSV file of pods.")]
    load: Annotated[
        Factor | None,
        Meta(description="With recorded times: compress them so that pods ask for this share of the GPUs on average."),
    ] = None


class SwfLog(SwfOptions, frozen=True, kw_only=True, rename="camel"):
    """A log in the Standard Workload Format, and how to read it."""

    file: Annotated[str, Meta(description="The log, plain or gzip.")]


class WorkloadSource(ScenarioPart, frozen=True, kw_only=True):
    """What arrives: exactly one of files, synthetic, swf, openb; the other fields change it, in this order."""

    files: Annotated[tuple[str, ...], Meta(description="Manifests; fairway.dev/arrival says when, 0 without it.")] = ()
    synthetic: Annotated[SyntheticSpec | None, Meta(description="Drawn from the seed.")] = None
    swf: Annotated[SwfLog | None, Meta(description="A log of an HPC cluster.")] = None
    openb: Annotated[OpenbPods | None, Meta(description="Pods of the openb trace.")] = None
    start: Annotated[Duration, Meta(description="Leave out what arrives before; this becomes the beginning.")] = (
        Duration(0)
    )
    stop: Annotated[Duration | None, Meta(description="Leave out what arrives from then on. Without: nothing.")] = None
    limit: Annotated[Annotated[int, Meta(ge=0)] | None, Meta(description="Only so many arrivals. Without: all.")] = None
    copies: Annotated[Count, Meta(description="Each arrival comes so many times.")] = 1
    time_scale: Annotated[Factor, Meta(description="Multiplies times of arrival; 0.5 is twice the load.")] = 1.0
    duration_scale: Annotated[Factor, Meta(description="Multiplies how long pods run.")] = 1.0
    delay: Annotated[Duration, Meta(description="Everything arrives so much later.")] = Duration(0)


class Pause(ScenarioPart, frozen=True, kw_only=True):
    """A scheduler does nothing for a while."""

    start: Annotated[Duration, Meta(description="From when.")] = msgspec.field(name="from")
    seconds: Annotated[Duration, Meta(description="For how long.")] = msgspec.field(name="for")


class SchedulerSpec(ScenarioPart, frozen=True, kw_only=True):
    """One scheduler of the simulation."""

    name: Annotated[
        str, Meta(description="What the recording calls it; serves pods of this schedulerName unless config says more.")
    ] = "default-scheduler"
    config: Annotated[
        Config | None,
        Meta(description="A KubeSchedulerConfiguration, a file or written here. Without: kube-scheduler's defaults."),
    ] = None
    decision_latency: Annotated[Duration, Meta(description="What one attempt takes.")] = Duration(
        SCHEDULER.decision_latency
    )
    view_delay: Annotated[Duration, Meta(description="How late it hears of anything.")] = Duration(SCHEDULER.view_delay)
    bind_latency: Annotated[Duration, Meta(description="From its decision to the API server.")] = Duration(
        SCHEDULER.bind_latency
    )
    pause: Annotated[tuple[Pause, ...], Meta(description="When it stops, and for how long.")] = ()


class Policy(ScenarioPart, frozen=True, kw_only=True):
    """A policy to compare with others."""

    config: Annotated[
        Config | None, Meta(description="Takes the place of the first scheduler's config. Without: the defaults.")
    ] = None
    batch: Annotated[
        dict[str, Any], Meta(description="What this policy says otherwise of spec.batch: what is named changes.")
    ] = {}


class KubeletTimes(ScenarioPart, frozen=True, kw_only=True):
    """What kubelets need."""

    start_latency: Annotated[Duration, Meta(description="From binding to running, the image being there.")] = Duration(
        KUBELET.start_latency
    )
    image_pull_latency: Annotated[Duration, Meta(description="On top, where the image is not there yet.")] = Duration(
        KUBELET.image_pull_latency
    )
    termination_latency: Annotated[
        Duration, Meta(description="From a deletion to the end, at most the pod's grace period.")
    ] = Duration(KUBELET.termination_latency)


class ControllerTimes(ScenarioPart, frozen=True, kw_only=True):
    """What controllers need."""

    reconcile_latency: Annotated[Duration, Meta(description="From an event to what a controller does about it.")] = (
        Duration(CONTROLLERS.reconcile_latency)
    )
    provision_latency: Annotated[
        Duration, Meta(description="From a claim that needs a volume to the volume that was made for it.")
    ] = Duration(CONTROLLERS.provision_latency)
    pod_groups: Annotated[
        bool,
        Meta(description="Indexed Jobs whose pods all run at once make PodGroups of them (gate WorkloadWithJob)."),
    ] = False


class Fault(ScenarioPart, frozen=True, kw_only=True):
    """Something happens to nodes at a time."""

    at: Annotated[Duration, Meta(description="When.")]
    action: Annotated[FaultAction, Meta(description="What.")]
    node: Annotated[str, Meta(description="To which: a name, or a pattern with * and ?.")] = ""
    labels: Annotated[dict[str, str], Meta(description="To which: those with all of these labels.")] = {}
    seconds: Annotated[
        Duration | None, Meta(description="Undone after so long: lose, cordon, drain and remove only.")
    ] = msgspec.field(name="for", default=None)


class RandomFault(ScenarioPart, frozen=True, kw_only=True):
    """Nodes fail and come back by chance, each on its own, at exponential times."""

    mtbf: Annotated[Duration, Meta(description="Mean time a node works until it fails.")]
    mttr: Annotated[Duration, Meta(description="Mean time until it is back.")]
    action: Annotated[Literal["lose", "cordon", "drain", "remove"], Meta(description="How they fail.")] = "lose"
    node: Annotated[str, Meta(description="Which: a name, or a pattern with * and ?.")] = "*"
    labels: Annotated[dict[str, str], Meta(description="Which: those with all of these labels as well.")] = {}
    until: Annotated[Duration | None, Meta(description="No failures from then on. Without: spec.end.")] = None


class Defragment(ScenarioPart, frozen=True, kw_only=True):
    """Evict pods whose leaving reduces the fragmentation of GPUs, and let them come again."""

    at: Annotated[tuple[Duration, ...], Meta(description="When. Either this or every.")] = ()
    every: Annotated[Duration | None, Meta(description="Again and again, until spec.end. Either this or at.")] = None
    share: Annotated[float, Meta(gt=0, le=1, description="At most this share of the pods on nodes, each time.")] = 0.05
    per_node: Annotated[PerNode, Meta(description="one: of each node the pod of the largest gain; several: more.")] = (
        "one"
    )


class Recording(ScenarioPart, frozen=True, kw_only=True):
    """What the run file keeps. Pods, nodes and what ran where are always kept."""

    decisions: Annotated[Keep, Meta(description="Which attempts; failed: those that placed nothing.")] = "all"
    scores: Annotated[
        int, Meta(ge=0, le=10_000, description="Of so many of the best nodes of a decision, the scores.")
    ] = RECORD.scores
    queue: Annotated[bool, Meta(description="Moves between the places of the queue.")] = RECORD.queue
    events: Annotated[bool, Meta(description="Events, such as evictions.")] = RECORD.events
    objects: Annotated[bool, Meta(description="What came and went besides pods and nodes.")] = RECORD.objects
    plugin_times: Annotated[
        bool, Meta(description="CPU time of each plugin in each attempt; measuring makes the simulation slower.")
    ] = RECORD.plugin_times
    gangs: Annotated[
        bool,
        Meta(description="Every 10 s, jobs that fit and are not tried as others are before them (needs events)."),
    ] = RECORD.gangs
    estimates: Annotated[
        bool | None,
        Meta(description="When waiting jobs of queues would start, as they are told. Without: if decisions are kept."),
    ] = RECORD.estimates


class ScenarioMeta(ScenarioPart, frozen=True, kw_only=True):
    """What the scenario is called."""

    name: Annotated[str, Meta(description="Its name. Without: the file's.")] = ""


class ScenarioSpec(ScenarioPart, frozen=True, kw_only=True):
    """The whole simulation."""

    seed: Annotated[int, Meta(ge=0, le=2**63 - 1, description="Everything left to chance follows from it.")] = 0
    end: Annotated[Duration | None, Meta(description="When it stops. Without: when nothing is left to do.")] = None
    strict: Annotated[
        bool,
        Meta(description="A line or object that makes no sense stops everything; otherwise it is skipped and told."),
    ] = False
    cluster: Annotated[ClusterSource, Meta(description="Nodes and what is there at the start.")] = ClusterSource()
    workload: Annotated[
        WorkloadSource | tuple[WorkloadSource, ...], Meta(description="What arrives; a list adds up.")
    ] = ()
    kinds: Annotated[
        tuple[str, ...],
        Meta(description="Files: tables of kinds that make pods, beside Fairway's own (docs/kinds.md)."),
    ] = ()
    schedulers: Annotated[
        tuple[SchedulerSpec, ...], Meta(description="Who schedules. Without: one, with kube-scheduler's defaults.")
    ] = (SchedulerSpec(),)
    policies: Annotated[
        dict[str, Policy], Meta(description="Policies by name; `default` is the first scheduler's own config.")
    ] = {}
    batch: Annotated[
        BatchSection | None,
        Meta(description="Queues of jobs. Without: labels and annotations that name one do nothing."),
    ] = None
    kubelet: Annotated[KubeletTimes, Meta(description="What kubelets need.")] = KubeletTimes()
    controllers: Annotated[ControllerTimes, Meta(description="What controllers need.")] = ControllerTimes()
    faults: Annotated[tuple[Fault, ...], Meta(description="What happens to nodes, and when.")] = ()
    random_faults: Annotated[tuple[RandomFault, ...], Meta(description="What happens to nodes by chance.")] = ()
    data_changes: Annotated[
        tuple[CopyChange, ...], Meta(description="What happens to copies of datasets, and when.")
    ] = ()
    data_reads: Annotated[ReadCosts, Meta(description="What reading datasets from afar costs pods.")] = ReadCosts()
    defragment: Annotated[
        Defragment | None, Meta(description="When pods are evicted and placed anew to reduce fragmentation.")
    ] = None
    record: Annotated[Recording, Meta(description="What the run file keeps.")] = Recording()

    @property
    def workloads(self) -> tuple[WorkloadSource, ...]:
        """What arrives, as a list."""
        return (self.workload,) if isinstance(self.workload, WorkloadSource) else self.workload


class ScenarioFile(ScenarioPart, frozen=True, kw_only=True):
    """A cluster, a workload, schedulers, and what goes wrong: a scenario for `fairway sim`."""

    api_version: Annotated[Literal["fairway.dev/v1alpha1"], Meta(description="The version of this format.")]
    kind: Annotated[Literal["Scenario"], Meta(description="What this file is.")]
    metadata: Annotated[ScenarioMeta, Meta(description="What it is called.")] = ScenarioMeta()
    spec: Annotated[ScenarioSpec, Meta(description="What it is.")] = ScenarioSpec()
