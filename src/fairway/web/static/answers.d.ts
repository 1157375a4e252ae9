// Answers of the API; made by `make page-types` of the server's own types.

export interface CellAnswer {
  begin: number;
  end: number;
  share: number | null;
  num_nodes: number;
  nodes: (string)[];
  num_pods: number;
  pods: (string)[];
}

export interface ComparedMetric {
  name: string;
  unit: string;
  better: string;
  meaning: string;
  values: (number | null)[];
  differences: (number | null)[];
  relative: (number | null)[];
  is_better: (boolean | null)[];
}

export interface ComparedNodes {
  run: string;
  num_both: number;
  num_only_first: number;
  num_only_other: number;
  only_first: (string)[];
  only_other: (string)[];
}

export interface ComparedPodColumns {
  pod: (string)[];
  created_seconds: (number)[];
  node: (string | null)[];
  other_node: (string | null)[];
  wait_seconds: (number)[];
  other_wait_seconds: (number)[];
  delay_seconds: (number)[];
}

export interface ComparedPods {
  num_both: number;
  num_elsewhere: number;
  num_only_first: number;
  num_only_other: number;
  columns: ComparedPodColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface ComparedRuns {
  runs: (string)[];
  notes: (string)[];
  metrics: (ComparedMetric)[];
  first: (Record<string, any>)[];
  nodes: (ComparedNodes)[];
}

export interface CurveAnswer {
  unit: string;
  time: (number)[];
  series: Record<string, (number)[]>;
}

export interface DecisionAnswer {
  decision: DecisionColumns;
  filter_counts: (FilterCount)[];
  scores: (Record<string, any>)[];
  preemptions: (Record<string, any>)[];
  plugin_times: (Record<string, any>)[];
}

export interface DecisionColumns {
  decision_id: (number)[];
  time_seconds: (number)[];
  scheduler: (string)[];
  pod: (string)[];
  attempt: (number)[];
  outcome: (string)[];
  node: (string | null)[];
  num_nodes: (number | null)[];
  num_feasible: (number)[];
  score: (number | null)[];
  cycle_seconds: (number)[];
  nominated_node: (string | null)[];
  num_victims: (number)[];
  message: (string | null)[];
}

export interface DeviceColumns {
  row: (number)[];
  device: (string)[];
  node: (string)[];
  index: (number)[];
  model: (string)[];
}

export interface Failure {
  code: string;
  message: string;
  hint: string;
}

export interface FailureAnswer {
  error: Failure;
}

export interface FilterCount {
  plugin: string;
  code: string;
  reason: string;
  num_nodes: number;
}

export interface FoundNames {
  kind: ("node" | "owner" | "pod")[];
  name: (string)[];
}

export interface JobColumns {
  position: (number | null)[];
  job: (string)[];
  queue: (string)[];
  state: (string)[];
  reason: (string | null)[];
  user: (string)[];
  account: (string)[];
  size: (string)[];
  submitted_seconds: (number)[];
  started_seconds: (number | null)[];
  limit_seconds: (number | null)[];
  jobs_ahead: (number | null)[];
  cpu_milli_ahead: (number | null)[];
  gpu_ahead: (number | null)[];
  likely_seconds: (number | null)[];
  safe_seconds: (number | null)[];
  by_limits_seconds: (number | null)[];
  is_promised: (boolean | null)[];
}

export interface KnownRun {
  id: string;
  name: string;
  state: "complete" | "interrupted" | "live" | "partial";
  version: string;
  begin: number;
  end: number;
  nodes: number;
  pods: number;
  decisions: number;
  resources: Record<string, string>;
  options: Record<string, any>;
  policies: (string)[];
  seed: number;
  origin: string;
  began: number | null;
  has_queues: boolean;
  notes: (string)[];
}

export interface LaneColumns {
  node: (string)[];
  node_id: (number)[];
  lane: (number)[];
  pod: (string)[];
  pod_id: (number)[];
  from_seconds: (number)[];
  to_seconds: (number | null)[];
  reason: (string | null)[];
  owner: (string | null)[];
  user: (string)[];
  priority: (number)[];
  gpu_index: (string | null)[];
  amounts: (Record<string, number>)[];
}

export interface LanesAnswer {
  collapsed: boolean;
  num_intervals: number;
  lanes: LaneColumns;
  counts: CurveAnswer | null;
  states: (NodeStretch)[];
}

export interface MetricAnswer {
  metrics: (MetricShape)[];
}

export interface MetricShape {
  name: string;
  value: number;
  unit: string;
  better: "" | "higher" | "lower";
  meaning: string;
}

export interface NodeColumns {
  row: (number)[];
  node: (string)[];
  node_id: (number)[];
  is_there: (boolean)[];
  is_ready: (boolean | null)[];
  is_unschedulable: (boolean | null)[];
  pods: (number | null)[];
  share: (number | null)[];
  held: (Record<string, number> | null)[];
  allocatable: (Record<string, number> | null)[];
}

export interface NodeStretch {
  node: string;
  node_id: number;
  from_seconds: number;
  to_seconds: number | null;
  change: string;
  gone: string | null;
  is_ready: boolean;
  is_unschedulable: boolean;
  allocatable: Record<string, number>;
}

export interface PageOf_DecisionColumns {
  columns: DecisionColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface PageOf_DeviceColumns {
  columns: DeviceColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface PageOf_JobColumns {
  columns: JobColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface PageOf_NodeColumns {
  columns: NodeColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface PageOf_PodColumns {
  columns: PodColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface PluginTree {
  name: string;
  cpu_seconds: number;
  num_calls: number;
  children: (PluginTree)[];
}

export interface PodColumns {
  pod_id: (number)[];
  pod: (string)[];
  uid: (string)[];
  namespace: (string)[];
  owner: (string | null)[];
  user: (string)[];
  scheduler: (string)[];
  priority: (number)[];
  state: ("ended" | "running" | "waiting")[];
  created_seconds: (number)[];
  bound_seconds: (number | null)[];
  started_seconds: (number | null)[];
  ended_seconds: (number | null)[];
  wait_seconds: (number)[];
  attempts: (number)[];
  node: (string | null)[];
  reason: (string | null)[];
  refused_by: (string | null)[];
  refusal: (string | null)[];
}

export interface QueueColumns {
  pod_id: (number)[];
  pod: (string)[];
  scheduler: (string)[];
  place: (string)[];
  since_seconds: (number)[];
  event: (string)[];
  created_seconds: (number)[];
  attempts: (number)[];
  refused_by: (string | null)[];
  refusal: (string | null)[];
  wakes: (string | null)[];
}

export interface QueuePage {
  places: Record<string, number>;
  columns: QueueColumns;
  num_rows: number;
  total: number;
  next: string | null;
}

export interface RowSpans {
  row: (number)[];
  from_seconds: (number)[];
  to_seconds: (number | null)[];
  is_ready: (boolean)[];
  is_unschedulable: (boolean)[];
}

export interface RowsAnswer {
  total: number;
  first: number;
  names: (string)[];
  numbers: (number)[];
  labels: (string)[];
  groups: (string)[];
  group_rows: (number)[];
  fullest: string | null;
  fullest_share: number | null;
  spans: RowSpans;
}

export interface RunsAnswer {
  runs: (KnownRun)[];
}

export interface ShareColumns {
  name: (string)[];
  is_user: (boolean)[];
  shares: (number | string)[];
  used: (number)[];
  norm: (number)[];
  level: (number | null)[];
  factor: (number | null)[];
}

export interface SharesAnswer {
  at: number;
  columns: ShareColumns;
}

export interface WaitingAnswer {
  at: number;
  waiting: number;
  columns: WaitingColumns;
  ended: Record<string, number>;
}

export interface WaitingColumns {
  reason: (string)[];
  pods: (number)[];
  longest_seconds: (number)[];
  longest_pod: (string)[];
  job: (string | null)[];
}

export interface WaitsAnswer {
  seconds: (number)[];
  share: (number)[];
  waiting: number;
  up_to: (number)[];
  placed: (number)[];
  unplaced: (number)[];
}
