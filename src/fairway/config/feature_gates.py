"""kube-scheduler's flag --feature-gates, as far as it changes what a scheduler does here.

In: the text of the flag, such as GenericWorkload=true,GangScheduling=true. Out: the behaviour towards groups of pods
that it asks for (`gangs_of`), for all profiles that do not say theirs. Gates of other names may be given with their
default values, so that a command line written for kube-scheduler is taken as it is; any other value is refused, as
nothing would come of it. Names and defaults: those of Kubernetes 1.36 (pkg/features/kube_features.go).
"""

from __future__ import annotations

import difflib
from typing import Final

from fairway.config.gangs import Gangs

__all__ = ["FeatureGatesError", "gangs_of"]

GROUP_GATES: Final = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption")
"""Off by default; each needs the first, and the last needs the second too."""


class FeatureGatesError(ValueError):
    """The flag asks for what there is not; the message names the gates."""


def gangs_of(flag: str) -> Gangs | None:
    """The behaviour that the flag asks for; None: it leaves groups alone."""
    values = _values(flag)
    wrong = [name for name, value in values.items() if name not in GROUP_GATES and value is not _default(name)]
    if wrong:
        words = ", ".join(f"{name}={str(values[name]).lower()}" for name in wrong)
        raise FeatureGatesError(f"{words}: not supported; only {', '.join(GROUP_GATES)} can be set here")
    generic, gang, topology, preemption = (values.get(name, False) for name in GROUP_GATES)
    if not (generic or gang or topology or preemption):
        return None
    for name, needed in (("GangScheduling", generic), ("TopologyAwareWorkloadScheduling", generic)):
        if values.get(name) and not needed:
            raise FeatureGatesError(f"{name}=true needs GenericWorkload=true")
    if preemption and not gang:
        raise FeatureGatesError("WorkloadAwarePreemption=true needs GangScheduling=true")
    if not gang:
        raise FeatureGatesError("GenericWorkload=true without GangScheduling=true is not supported; give both")
    return Gangs(mode="kube", topology=topology, workload_preemption=preemption)


def _values(flag: str) -> dict[str, bool]:
    values: dict[str, bool] = {}
    for part in filter(None, (part.strip() for part in flag.split(","))):
        name, equals, text = part.partition("=")
        if not equals or text.strip().lower() not in ("true", "false"):
            raise FeatureGatesError(f"{part!r} is not NAME=true or NAME=false")
        values[name.strip()] = text.strip().lower() == "true"
    return values


def _default(name: str) -> bool:
    if name in ON:
        return True
    if name in OFF:
        return False
    close = difflib.get_close_matches(name, (*GROUP_GATES, *sorted(ON | OFF)), 1)
    raise FeatureGatesError(f"Kubernetes 1.36 has no gate {name}{f'; did you mean {close[0]}?' if close else ''}")


ON_NAMES: Final = """
    APIResponseCompression APIServerIdentity APIServerTracing AggregatedDiscoveryRemoveBetaType
    AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache
    CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDObservedGenerationTracking CRDValidationRatcheting
    CSIServiceAccountTokenSecrets ClearingNominatedNodeNameAfterBinding ComponentFlagz ComponentStatusz
    ConsistentListFromCache ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules
    CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAConsumableCapacity
    DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
    DeclarativeValidation DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency
    DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion DynamicResourceAllocation
    EnvFiles ExecProbeTimeout ExtendWebSocketsToKubelet ExternalServiceAccountTokenSigner GracefulNodeShutdown
    GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume
    InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers
    JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
    KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz KubeletPSI
    KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesListUseActivePods
    KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders KubeletTracing ListFromCacheSnapshot
    LogarithmicScaleDown MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
    MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy
    NFTablesProxyMode NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap
    NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching OrderedNamespaceDeletion PLEGOnDemandRelist
    PodDeletionCost PodLevelResources PodLifecycleSleepAction PodLifecycleSleepActionAllowZero
    PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness
    PodTopologyLabelsAdmission PortForwardWebsockets PreferSameTrafficDistribution PreventStaticPodAPIReferences
    ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation
    RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation ReloadKubeletClientCAFile
    ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RetryGenerateName
    RotateKubeletServerCertificate SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerAsyncPreemption
    SchedulerPopFromBackoffQ SchedulerQueueingHints SeparateTaintEvictionController
    ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI ServiceAccountTokenNodeBinding
    ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping
    SidecarContainers SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
    StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
    StorageNamespaceIndex StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
    StrictIPCIDRValidation StructuredAuthenticationConfiguration StructuredAuthenticationConfigurationEgressSelector
    StructuredAuthenticationConfigurationJWKSMetrics SupplementalGroupsPolicy SystemdWatchdog
    TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions
    TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy
    UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook WatchList WinDSR WinOverlay
    WindowsGracefulNodeShutdown
"""
OFF_NAMES: Final = """
    APIServingWithRoutine AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
    AllowOverwriteTerminationGracePeriodSeconds AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
    CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ChangeContainerStatusOnKubeletRestart
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ClusterTrustBundle
    ClusterTrustBundleProjection ConcurrentWatchObjectDecode ContainerStopSignals CoordinatedLeaderElection
    CrossNamespaceVolumeDataSource DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources
    DRAResourcePoolStatus DRAWorkloadResourceClaims DeclarativeValidationTakeover EventedPLEG GitRepoVolumeDriver
    HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory KMSv1 KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly
    LocalStorageCapacityIsolationFSQuotaMonitoring ManifestBasedAdmissionControlConfig MaxUnavailableStatefulSet
    MemoryQoS MutablePVNodeAffinity PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI
    PodCertificateRequest PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
    ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SELinuxMount SchedulerAsyncAPICalls
    SeparateCacheWatchRPC ShardedListAndWatch StorageCapacityScoring StorageVersionAPI StorageVersionMigrator
    TaintTolerationComparisonOperators TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
    VolumeLimitScaling WindowsCPUAndMemoryAffinity WindowsHostNetwork WorkloadWithJob AllAlpha AllBeta
"""
ON: Final = frozenset(ON_NAMES.split())
OFF: Final = frozenset(OFF_NAMES.split())
