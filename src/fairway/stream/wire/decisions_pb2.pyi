from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Kind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    KIND_UNSPECIFIED: _ClassVar[Kind]
    KIND_ATTEMPT: _ClassVar[Kind]
    KIND_QUEUE_MOVE: _ClassVar[Kind]
    KIND_BOUND: _ClassVar[Kind]
    KIND_UNBOUND: _ClassVar[Kind]
    KIND_POD_SEEN: _ClassVar[Kind]
    KIND_NODE_SEEN: _ClassVar[Kind]
    KIND_PREEMPTED: _ClassVar[Kind]
    KIND_SNAPSHOT: _ClassVar[Kind]
    KIND_JOB_ATTEMPT: _ClassVar[Kind]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    SCHEDULED: _ClassVar[Outcome]
    UNSCHEDULABLE: _ClassVar[Outcome]
    GATED: _ClassVar[Outcome]
    ERROR: _ClassVar[Outcome]

class Via(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIA_UNSPECIFIED: _ClassVar[Via]
    SCORES: _ClassVar[Via]
    SINGLE: _ClassVar[Via]
    NOMINATED: _ClassVar[Via]

class Code(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CODE_UNSPECIFIED: _ClassVar[Code]
    CODE_UNSCHEDULABLE: _ClassVar[Code]
    CODE_UNRESOLVABLE: _ClassVar[Code]
    CODE_ERROR: _ClassVar[Code]
    CODE_PENDING: _ClassVar[Code]

class Place(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLACE_UNSPECIFIED: _ClassVar[Place]
    PLACE_ACTIVE: _ClassVar[Place]
    PLACE_BACKOFF: _ClassVar[Place]
    PLACE_UNSCHEDULABLE: _ClassVar[Place]
    PLACE_GATED: _ClassVar[Place]
    PLACE_IN_FLIGHT: _ClassVar[Place]

class UnboundReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNBOUND_REASON_UNSPECIFIED: _ClassVar[UnboundReason]
    SUCCEEDED: _ClassVar[UnboundReason]
    FAILED: _ClassVar[UnboundReason]
    DELETED: _ClassVar[UnboundReason]
    EVICTED: _ClassVar[UnboundReason]
    PREEMPTED: _ClassVar[UnboundReason]
    NODE_LOST: _ClassVar[UnboundReason]
    REJECTED: _ClassVar[UnboundReason]
    RESIZED: _ClassVar[UnboundReason]

class JobPart(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_PART_UNSPECIFIED: _ClassVar[JobPart]
    JOB_PART_MEMBER: _ClassVar[JobPart]
    JOB_PART_PASSED_OVER: _ClassVar[JobPart]

class JobOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JOB_OUTCOME_UNSPECIFIED: _ClassVar[JobOutcome]
    JOB_SCHEDULED: _ClassVar[JobOutcome]
    JOB_UNSCHEDULABLE: _ClassVar[JobOutcome]
    JOB_PREEMPTING: _ClassVar[JobOutcome]
    JOB_ERROR: _ClassVar[JobOutcome]
KIND_UNSPECIFIED: Kind
KIND_ATTEMPT: Kind
KIND_QUEUE_MOVE: Kind
KIND_BOUND: Kind
KIND_UNBOUND: Kind
KIND_POD_SEEN: Kind
KIND_NODE_SEEN: Kind
KIND_PREEMPTED: Kind
KIND_SNAPSHOT: Kind
KIND_JOB_ATTEMPT: Kind
OUTCOME_UNSPECIFIED: Outcome
SCHEDULED: Outcome
UNSCHEDULABLE: Outcome
GATED: Outcome
ERROR: Outcome
VIA_UNSPECIFIED: Via
SCORES: Via
SINGLE: Via
NOMINATED: Via
CODE_UNSPECIFIED: Code
CODE_UNSCHEDULABLE: Code
CODE_UNRESOLVABLE: Code
CODE_ERROR: Code
CODE_PENDING: Code
PLACE_UNSPECIFIED: Place
PLACE_ACTIVE: Place
PLACE_BACKOFF: Place
PLACE_UNSCHEDULABLE: Place
PLACE_GATED: Place
PLACE_IN_FLIGHT: Place
UNBOUND_REASON_UNSPECIFIED: UnboundReason
SUCCEEDED: UnboundReason
FAILED: UnboundReason
DELETED: UnboundReason
EVICTED: UnboundReason
PREEMPTED: UnboundReason
NODE_LOST: UnboundReason
REJECTED: UnboundReason
RESIZED: UnboundReason
JOB_PART_UNSPECIFIED: JobPart
JOB_PART_MEMBER: JobPart
JOB_PART_PASSED_OVER: JobPart
JOB_OUTCOME_UNSPECIFIED: JobOutcome
JOB_SCHEDULED: JobOutcome
JOB_UNSCHEDULABLE: JobOutcome
JOB_PREEMPTING: JobOutcome
JOB_ERROR: JobOutcome

class WatchRequest(_message.Message):
    __slots__ = ("resume", "kinds", "pod_glob", "node_glob", "top_scores", "snapshot")
    RESUME_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    POD_GLOB_FIELD_NUMBER: _ClassVar[int]
    NODE_GLOB_FIELD_NUMBER: _ClassVar[int]
    TOP_SCORES_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    resume: str
    kinds: _containers.RepeatedScalarFieldContainer[Kind]
    pod_glob: str
    node_glob: str
    top_scores: int
    snapshot: bool
    def __init__(self, resume: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[Kind, str]]] = ..., pod_glob: _Optional[str] = ..., node_glob: _Optional[str] = ..., top_scores: _Optional[int] = ..., snapshot: bool = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("stream_id", "first_sequence", "events", "resume", "gap", "sent")
    STREAM_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    stream_id: str
    first_sequence: int
    events: _containers.RepeatedCompositeFieldContainer[Event]
    resume: str
    gap: Gap
    sent: _timestamp_pb2.Timestamp
    def __init__(self, stream_id: _Optional[str] = ..., first_sequence: _Optional[int] = ..., events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., resume: _Optional[str] = ..., gap: _Optional[_Union[Gap, _Mapping]] = ..., sent: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Gap(_message.Message):
    __slots__ = ("lost", "from_sequence", "to_sequence", "why")
    LOST_FIELD_NUMBER: _ClassVar[int]
    FROM_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TO_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    lost: int
    from_sequence: int
    to_sequence: int
    why: str
    def __init__(self, lost: _Optional[int] = ..., from_sequence: _Optional[int] = ..., to_sequence: _Optional[int] = ..., why: _Optional[str] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("sequence", "time", "time_seconds", "attempt", "queue_move", "bound", "unbound", "pod", "node", "preempted", "snapshot", "job_attempt")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TIME_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    QUEUE_MOVE_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    UNBOUND_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PREEMPTED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    JOB_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time: _timestamp_pb2.Timestamp
    time_seconds: float
    attempt: Attempt
    queue_move: QueueMove
    bound: Bound
    unbound: Unbound
    pod: PodSeen
    node: NodeSeen
    preempted: Preempted
    snapshot: Snapshot
    job_attempt: JobAttempt
    def __init__(self, sequence: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., time_seconds: _Optional[float] = ..., attempt: _Optional[_Union[Attempt, _Mapping]] = ..., queue_move: _Optional[_Union[QueueMove, _Mapping]] = ..., bound: _Optional[_Union[Bound, _Mapping]] = ..., unbound: _Optional[_Union[Unbound, _Mapping]] = ..., pod: _Optional[_Union[PodSeen, _Mapping]] = ..., node: _Optional[_Union[NodeSeen, _Mapping]] = ..., preempted: _Optional[_Union[Preempted, _Mapping]] = ..., snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., job_attempt: _Optional[_Union[JobAttempt, _Mapping]] = ...) -> None: ...

class PodRef(_message.Message):
    __slots__ = ("namespace", "name", "uid")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    uid: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ...) -> None: ...

class Attempt(_message.Message):
    __slots__ = ("pod", "scheduler", "attempt", "outcome", "node", "via", "num_nodes", "num_feasible", "num_best", "score", "refused", "best", "nominated_node", "victims", "message", "cycle_seconds", "plugin_times", "job_part", "promised_node")
    POD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    VIA_FIELD_NUMBER: _ClassVar[int]
    NUM_NODES_FIELD_NUMBER: _ClassVar[int]
    NUM_FEASIBLE_FIELD_NUMBER: _ClassVar[int]
    NUM_BEST_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    NOMINATED_NODE_FIELD_NUMBER: _ClassVar[int]
    VICTIMS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CYCLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    PLUGIN_TIMES_FIELD_NUMBER: _ClassVar[int]
    JOB_PART_FIELD_NUMBER: _ClassVar[int]
    PROMISED_NODE_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    scheduler: str
    attempt: int
    outcome: Outcome
    node: str
    via: Via
    num_nodes: int
    num_feasible: int
    num_best: int
    score: int
    refused: _containers.RepeatedCompositeFieldContainer[Refused]
    best: _containers.RepeatedCompositeFieldContainer[Scored]
    nominated_node: str
    victims: _containers.RepeatedCompositeFieldContainer[PodRef]
    message: str
    cycle_seconds: float
    plugin_times: _containers.RepeatedCompositeFieldContainer[PluginTime]
    job_part: JobPart
    promised_node: str
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., scheduler: _Optional[str] = ..., attempt: _Optional[int] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., node: _Optional[str] = ..., via: _Optional[_Union[Via, str]] = ..., num_nodes: _Optional[int] = ..., num_feasible: _Optional[int] = ..., num_best: _Optional[int] = ..., score: _Optional[int] = ..., refused: _Optional[_Iterable[_Union[Refused, _Mapping]]] = ..., best: _Optional[_Iterable[_Union[Scored, _Mapping]]] = ..., nominated_node: _Optional[str] = ..., victims: _Optional[_Iterable[_Union[PodRef, _Mapping]]] = ..., message: _Optional[str] = ..., cycle_seconds: _Optional[float] = ..., plugin_times: _Optional[_Iterable[_Union[PluginTime, _Mapping]]] = ..., job_part: _Optional[_Union[JobPart, str]] = ..., promised_node: _Optional[str] = ...) -> None: ...

class JobRef(_message.Message):
    __slots__ = ("spelling", "namespace", "name")
    SPELLING_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    spelling: str
    namespace: str
    name: str
    def __init__(self, spelling: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class JobAttempt(_message.Message):
    __slots__ = ("job", "scheduler", "attempt", "outcome", "num_members", "num_placed", "blocking", "missing", "resource", "domain_key", "domain", "num_domains", "num_backtracks", "is_exhausted", "victims", "message", "cycle_seconds")
    JOB_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    NUM_MEMBERS_FIELD_NUMBER: _ClassVar[int]
    NUM_PLACED_FIELD_NUMBER: _ClassVar[int]
    BLOCKING_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_KEY_FIELD_NUMBER: _ClassVar[int]
    DOMAIN_FIELD_NUMBER: _ClassVar[int]
    NUM_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    NUM_BACKTRACKS_FIELD_NUMBER: _ClassVar[int]
    IS_EXHAUSTED_FIELD_NUMBER: _ClassVar[int]
    VICTIMS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CYCLE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    job: JobRef
    scheduler: str
    attempt: int
    outcome: JobOutcome
    num_members: int
    num_placed: int
    blocking: PodRef
    missing: int
    resource: str
    domain_key: str
    domain: str
    num_domains: int
    num_backtracks: int
    is_exhausted: bool
    victims: _containers.RepeatedCompositeFieldContainer[Victim]
    message: str
    cycle_seconds: float
    def __init__(self, job: _Optional[_Union[JobRef, _Mapping]] = ..., scheduler: _Optional[str] = ..., attempt: _Optional[int] = ..., outcome: _Optional[_Union[JobOutcome, str]] = ..., num_members: _Optional[int] = ..., num_placed: _Optional[int] = ..., blocking: _Optional[_Union[PodRef, _Mapping]] = ..., missing: _Optional[int] = ..., resource: _Optional[str] = ..., domain_key: _Optional[str] = ..., domain: _Optional[str] = ..., num_domains: _Optional[int] = ..., num_backtracks: _Optional[int] = ..., is_exhausted: bool = ..., victims: _Optional[_Iterable[_Union[Victim, _Mapping]]] = ..., message: _Optional[str] = ..., cycle_seconds: _Optional[float] = ...) -> None: ...

class Victim(_message.Message):
    __slots__ = ("pod", "node")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    node: str
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., node: _Optional[str] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("plugin", "code", "reason", "num_nodes")
    PLUGIN_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    NUM_NODES_FIELD_NUMBER: _ClassVar[int]
    plugin: str
    code: Code
    reason: str
    num_nodes: int
    def __init__(self, plugin: _Optional[str] = ..., code: _Optional[_Union[Code, str]] = ..., reason: _Optional[str] = ..., num_nodes: _Optional[int] = ...) -> None: ...

class Scored(_message.Message):
    __slots__ = ("rank", "node", "total", "by_plugin")
    class ByPluginEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    RANK_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    BY_PLUGIN_FIELD_NUMBER: _ClassVar[int]
    rank: int
    node: str
    total: int
    by_plugin: _containers.ScalarMap[str, int]
    def __init__(self, rank: _Optional[int] = ..., node: _Optional[str] = ..., total: _Optional[int] = ..., by_plugin: _Optional[_Mapping[str, int]] = ...) -> None: ...

class PluginTime(_message.Message):
    __slots__ = ("plugin", "point", "num_calls", "cpu_seconds")
    PLUGIN_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    NUM_CALLS_FIELD_NUMBER: _ClassVar[int]
    CPU_SECONDS_FIELD_NUMBER: _ClassVar[int]
    plugin: str
    point: str
    num_calls: int
    cpu_seconds: float
    def __init__(self, plugin: _Optional[str] = ..., point: _Optional[str] = ..., num_calls: _Optional[int] = ..., cpu_seconds: _Optional[float] = ...) -> None: ...

class QueueMove(_message.Message):
    __slots__ = ("pod", "scheduler", "origin", "place", "event")
    POD_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    scheduler: str
    origin: Place
    place: Place
    event: str
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., scheduler: _Optional[str] = ..., origin: _Optional[_Union[Place, str]] = ..., place: _Optional[_Union[Place, str]] = ..., event: _Optional[str] = ...) -> None: ...

class Bound(_message.Message):
    __slots__ = ("pod", "node", "node_uid", "gpu_index", "held")
    class HeldEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    NODE_UID_FIELD_NUMBER: _ClassVar[int]
    GPU_INDEX_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    node: str
    node_uid: str
    gpu_index: str
    held: _containers.ScalarMap[str, int]
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., node: _Optional[str] = ..., node_uid: _Optional[str] = ..., gpu_index: _Optional[str] = ..., held: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Unbound(_message.Message):
    __slots__ = ("pod", "node", "reason", "message", "held", "held_seconds")
    class HeldEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    HELD_SECONDS_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    node: str
    reason: UnboundReason
    message: str
    held: _containers.ScalarMap[str, int]
    held_seconds: float
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., node: _Optional[str] = ..., reason: _Optional[_Union[UnboundReason, str]] = ..., message: _Optional[str] = ..., held: _Optional[_Mapping[str, int]] = ..., held_seconds: _Optional[float] = ...) -> None: ...

class PodSeen(_message.Message):
    __slots__ = ("pod", "change", "scheduler", "owner", "priority", "requests", "annotations", "start_seconds")
    class RequestsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class AnnotationsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    POD_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    SCHEDULER_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    START_SECONDS_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    change: str
    scheduler: str
    owner: str
    priority: int
    requests: _containers.ScalarMap[str, int]
    annotations: _containers.ScalarMap[str, str]
    start_seconds: float
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., change: _Optional[str] = ..., scheduler: _Optional[str] = ..., owner: _Optional[str] = ..., priority: _Optional[int] = ..., requests: _Optional[_Mapping[str, int]] = ..., annotations: _Optional[_Mapping[str, str]] = ..., start_seconds: _Optional[float] = ...) -> None: ...

class NodeSeen(_message.Message):
    __slots__ = ("node", "uid", "change", "is_ready", "is_unschedulable", "allocatable", "labels")
    class AllocatableEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NODE_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    IS_READY_FIELD_NUMBER: _ClassVar[int]
    IS_UNSCHEDULABLE_FIELD_NUMBER: _ClassVar[int]
    ALLOCATABLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    node: str
    uid: str
    change: str
    is_ready: bool
    is_unschedulable: bool
    allocatable: _containers.ScalarMap[str, int]
    labels: _containers.ScalarMap[str, str]
    def __init__(self, node: _Optional[str] = ..., uid: _Optional[str] = ..., change: _Optional[str] = ..., is_ready: bool = ..., is_unschedulable: bool = ..., allocatable: _Optional[_Mapping[str, int]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Preempted(_message.Message):
    __slots__ = ("pod", "node", "by")
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    pod: PodRef
    node: str
    by: PodRef
    def __init__(self, pod: _Optional[_Union[PodRef, _Mapping]] = ..., node: _Optional[str] = ..., by: _Optional[_Union[PodRef, _Mapping]] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("nodes", "bound", "queue", "is_last")
    NODES_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    IS_LAST_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[NodeSeen]
    bound: _containers.RepeatedCompositeFieldContainer[Bound]
    queue: _containers.RepeatedCompositeFieldContainer[QueueMove]
    is_last: bool
    def __init__(self, nodes: _Optional[_Iterable[_Union[NodeSeen, _Mapping]]] = ..., bound: _Optional[_Iterable[_Union[Bound, _Mapping]]] = ..., queue: _Optional[_Iterable[_Union[QueueMove, _Mapping]]] = ..., is_last: bool = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("pod",)
    POD_FIELD_NUMBER: _ClassVar[int]
    pod: str
    def __init__(self, pod: _Optional[str] = ...) -> None: ...

class Explanation(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...
