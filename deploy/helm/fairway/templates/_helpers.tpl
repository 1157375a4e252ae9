{{- define "fairway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "fairway.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "fairway.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "fairway.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "fairway.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fairway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fairway.labels" -}}
{{ include "fairway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
{{- end }}

{{- define "fairway.serviceAccountName" -}}
{{- default (include "fairway.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- define "fairway.leaseName" -}}
{{- default (include "fairway.fullname" .) .Values.leaderElection.resourceName }}
{{- end }}

{{/* The configuration: what the user wrote, with a profile where there is none, and our own lease. */}}
{{- define "fairway.config" -}}
{{- $election := dict
    "leaderElect" .Values.leaderElection.enabled
    "resourceName" (include "fairway.leaseName" .)
    "resourceNamespace" .Release.Namespace
    "leaseDuration" .Values.leaderElection.leaseDuration
    "renewDeadline" .Values.leaderElection.renewDeadline
    "retryPeriod" .Values.leaderElection.retryPeriod -}}
{{- $fixed := dict
    "apiVersion" "kubescheduler.config.k8s.io/v1"
    "kind" "KubeSchedulerConfiguration"
    "leaderElection" $election -}}
{{- $profile := dict "schedulerName" .Values.schedulerName -}}
{{- if .Values.gangs.mode -}}
{{- $profile = set $profile "fairway" (dict "gangs" (dict "mode" .Values.gangs.mode)) -}}
{{- end -}}
{{- $ours := dict "profiles" (list $profile) -}}
{{- toYaml (merge $fixed (deepCopy .Values.config) $ours) }}
{{- end }}

{{/* By digest if there is one: a tag may mean another image tomorrow. */}}
{{- define "fairway.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* Is a ledger kept? A shadow writes nothing. */}}
{{- define "fairway.ledger" -}}
{{- if and .Values.batch.enabled .Values.batch.ledger.url (not .Values.shadow) }}yes{{ end }}
{{- end }}
