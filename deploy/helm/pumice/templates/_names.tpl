{{/* Names are those of Volcano's chart: <release>-scheduler, label app: volcano-scheduler. */}}
{{- define "pumice.name" -}}
{{ .Release.Name }}-scheduler
{{- end }}

{{/* Labels of every object. */}}
{{- define "pumice.labels" -}}
app: volcano-scheduler
app.kubernetes.io/name: pumice
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.custom.common_labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "pumice.image" -}}
{{- $tag := .Values.basic.scheduler_image_tag_version | default .Values.basic.image_tag_version -}}
{{ .Values.basic.image_registry }}/{{ .Values.basic.scheduler_image_name }}:{{ $tag | default .Chart.AppVersion }}
{{- end }}

{{/* What pods give in spec.schedulerName, as a list in JSON; the first is what is filled in where a Job names none. */}}
{{- define "pumice.schedulerNames" -}}
{{- $named := .Values.custom.scheduler_name | default "volcano" -}}
{{- if kindIs "slice" $named }}{{ toJson $named }}{{ else }}{{ list $named | toJson }}{{ end }}
{{- end }}

{{/* CEL: a pod is for one of our schedulers. */}}
{{- define "pumice.isOurs" -}}
object.spec.?schedulerName.orValue('') in {{ include "pumice.celList" (include "pumice.schedulerNames" . | fromJsonArray) }}
{{- end }}

{{- define "pumice.args" -}}
{{- $custom := .Values.custom -}}
- --logtostderr
- --scheduler-configmap={{ .Release.Namespace }}/{{ include "pumice.name" . }}-configmap
{{- if $custom.scheduler_name }}
{{- range include "pumice.schedulerNames" . | fromJsonArray }}
- --scheduler-name={{ . }}
{{- end }}
{{- end }}
- --enable-healthz=true
- --enable-metrics={{ $custom.scheduler_metrics_enable }}
{{- if $custom.scheduler_pprof_enable }}
- --enable-pprof=true
{{- end }}
{{- if $custom.scheduler_ui_enable }}
- --enable-ui=true
{{- end }}
- --leader-elect={{ $custom.leader_elect_enable }}
- --leader-elect-resource-namespace={{ .Release.Namespace }}
{{- with $custom.scheduler_kube_api_qps }}
- --kube-api-qps={{ . }}
{{- end }}
{{- with $custom.scheduler_kube_api_burst }}
- --kube-api-burst={{ . }}
{{- end }}
{{- with $custom.scheduler_schedule_period }}
- --schedule-period={{ . }}
{{- end }}
{{- with $custom.scheduler_node_worker_threads }}
- --node-worker-threads={{ . }}
{{- end }}
{{- if ne $custom.scheduler_percentage_nodes_to_find nil }}
- --percentage-nodes-to-find={{ $custom.scheduler_percentage_nodes_to_find }}
{{- end }}
{{- with $custom.scheduler_plugins_dir }}
- --plugins-dir={{ . }}
{{- end }}
{{- with $custom.scheduler_feature_gates }}
- --feature-gates={{ . }}
{{- end }}
{{- with $custom.ignored_provisioners }}
- --ignored-provisioners={{ . }}
{{- end }}
{{- with $custom.scheduler_sharding_mode }}
- --scheduler-sharding-mode={{ . }}
{{- end }}
{{- with $custom.scheduler_sharding_name }}
- --scheduler-sharding-name={{ . }}
{{- end }}
- -v={{ $custom.scheduler_log_level }}
{{- range $custom.scheduler_extra_args }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Replicas on different hosts and zones where there are some; a single one needs nothing. */}}
{{- define "pumice.spread" -}}
{{- $custom := .Values.custom -}}
{{- if kindIs "slice" $custom.scheduler_topology_spread }}
{{- with $custom.scheduler_topology_spread -}}
topologySpreadConstraints:
{{ toYaml . }}
{{- end }}
{{- else if gt (int $custom.scheduler_replicas) 1 -}}
topologySpreadConstraints:
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- maxSkew: 1
  topologyKey: {{ . }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      app: volcano-scheduler
{{- end }}
{{- end }}
{{- end }}

{{/* Whether the policies that check and that fill in are installed: as the values say, else as the API server is able to. */}}
{{- define "pumice.validates" -}}
{{- $wanted := .Values.custom.vap_enable -}}
{{- if kindIs "bool" $wanted }}{{ if $wanted }}true{{ end }}
{{- else if semverCompare ">=1.34-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{- define "pumice.mutates" -}}
{{- $wanted := .Values.custom.map_enable -}}
{{- if kindIs "bool" $wanted }}{{ if $wanted }}true{{ end }}
{{- else if semverCompare ">=1.36-0" .Capabilities.KubeVersion.Version }}true{{ end }}
{{- end }}

{{/* Whether what only schedulers, device plugins and nodes write is kept from others: as the values say, else as other
policies are. */}}
{{- define "pumice.guards" -}}
{{- $wanted := .Values.custom.trust_enable -}}
{{- if kindIs "bool" $wanted }}{{ if $wanted }}true{{ end }}
{{- else }}{{ include "pumice.validates" . }}
{{- end }}
{{- end }}

{{/* CEL: who writes is neither one of these accounts of the chart nor named in its values. */}}
{{- define "pumice.isStranger" -}}
{{- $custom := .root.Values.custom -}}
{{- $users := list -}}
{{- range .own }}{{ $users = append $users (printf "system:serviceaccount:%s:%s" $.root.Release.Namespace .) }}{{ end -}}
{{- range $custom.trusted_users }}{{ $users = append $users . }}{{ end -}}
{{- $groups := list -}}
{{- range $custom.trusted_groups }}{{ $groups = append $groups . }}{{ end -}}
!(request.userInfo.username in {{ include "pumice.celList" $users }}) && !request.userInfo.?groups.orValue([]).exists(g, g in {{ include "pumice.celList" $groups }})
{{- end }}

{{/* CEL: an annotation is one that schedulers, device plugins and nodes write. While a pod waits, volcano.sh/gpu-index is its
user's: the cards that the pod may have. */}}
{{- define "pumice.isGuardedKey" -}}
(k in ['AWS_NEURON_IDS', 'BAIDU_COM_DEVICE_IDX', 'CAMBRICON_DSMLU_ASSIGNED', 'CAMBRICON_DSMLU_PROFILE',
    'NEURON_ALLOCATED', 'NEURON_ALLOC_TIME', 'NEURON_RESOURCE_TYPE', 'assigned-containers', 'aws.amazon.com/predicate-node',
    'enflame.com/gcu-assigned', 'enflame.com/gcu-assigned-id', 'enflame.com/gcu-assigned-index', 'enflame.com/gcu-assigned-minor',
    'enflame.com/gcu-assigned-time', 'enflame.com/gcu-request-size', 'hami.io/bind-phase',
    'hami.io/bind-time', 'hami.io/kunlun-allocated', 'hami.io/vgpu-mig-allocations', 'hami.io/vgpu-node', 'hami.io/vgpu-time',
    'huawei.com/npu-core', 'metax-tech.com/gpu-devices-allocated', 'metax-tech.com/predicate-time',
    'mthreads.com/gpu-index', 'mthreads.com/predicate-node', 'mthreads.com/predicate-time',
    'mthreads.com/request-gpu-num', 'predicate-time', 'volcano.sh/bind-phase', 'volcano.sh/bind-time',
    'volcano.sh/devices-to-allocate', 'volcano.sh/gpu-assigned', 'volcano.sh/predicate-time',
    'volcano.sh/vgpu-ids-new', 'volcano.sh/vgpu-node', 'volcano.sh/vgpu-time']
  || k.startsWith('huawei.com/Ascend')
  || k.startsWith('hami.io/') && (k.endsWith('-devices-allocated') || k.endsWith('-devices-to-allocate'))
  || k == 'volcano.sh/gpu-index' && {{ . }})
{{- end }}

{{/* CEL: there is nothing to ask about these policies of a Job or task. */}}
{{- define "pumice.arePlain" -}}
{{ . }}.all(p, has(p.event) && has(p.action) && !has(p.events) && !has(p.exitCode)
  && p.event in ['PodFailed', 'PodEvicted', 'PodPending', 'Unknown', 'TaskCompleted', 'TaskFailed', 'JobUpdated']
  && p.action in ['AbortJob', 'RestartJob', 'RestartTask', 'RestartPod', 'RestartPartition', 'TerminateJob', 'CompleteJob',
    'ResumeJob']) && ({{ . }}.size() < 2 || {{ . }}.map(p, p.event).distinct().size() == {{ . }}.size())
{{- end }}

{{/* CEL: the queues that an object names. */}}
{{- define "pumice.queuesNamed" -}}
request.kind.kind == 'Pod' || request.kind.group == 'scheduling.k8s.io' ?
  [o.metadata.?annotations[?'scheduling.volcano.sh/queue-name'].orValue('')]
: request.kind.kind == 'JobFlow' ? o.?spec.?flows.orValue([]).map(f, f.?patch.?jobSpec.?queue.orValue(''))
: request.kind.group == 'batch.volcano.sh' && request.kind.kind == 'CronJob' ?
  [o.?spec.?jobTemplate.?spec.?queue.orValue('')]
: request.kind.group.endsWith('.volcano.sh') ? [o.?spec.?queue.orValue('')]
: request.kind.kind == 'CronJob' ?
  [o.spec.jobTemplate.spec.template.?metadata.?annotations[?'scheduling.volcano.sh/queue-name'].orValue('')]
: [o.spec.?template.?metadata.?annotations[?'scheduling.volcano.sh/queue-name'].orValue('')]
{{- end }}

{{- define "pumice.celList" -}}
[{{ range $at, $text := . }}{{ if $at }}, {{ end }}{{ $text | squote }}{{ end }}]
{{- end }}

{{/* Labels of policies: an own app, as they belong to no process. */}}
{{- define "pumice.admission.labels" -}}
app: volcano-admission
app.kubernetes.io/name: pumice
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.custom.common_labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "pumice.controllers" -}}
{{ .Release.Name }}-controllers
{{- end }}

{{- define "pumice.controllers.labels" -}}
app: volcano-controller
app.kubernetes.io/name: pumice
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- with .Values.custom.common_labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "pumice.controllers.image" -}}
{{- $tag := .Values.basic.controller_image_tag_version | default .Values.basic.image_tag_version -}}
{{ .Values.basic.image_registry }}/{{ .Values.basic.controller_image_name }}:{{ $tag | default .Chart.AppVersion }}
{{- end }}

{{- define "pumice.controllers.args" -}}
{{- $custom := .Values.custom -}}
- --logtostderr
{{- if $custom.scheduler_name }}
{{- range include "pumice.schedulerNames" . | fromJsonArray }}
- --scheduler-name={{ . }}
{{- end }}
{{- end }}
{{- with $custom.controller_enabled_controllers }}
- --controllers={{ . }}
{{- end }}
- --enable-healthz=true
- --enable-metrics={{ $custom.controller_metrics_enable }}
- --leader-elect={{ $custom.leader_elect_enable }}
{{- with $custom.controller_kube_api_qps }}
- --kube-api-qps={{ . }}
{{- end }}
{{- with $custom.controller_kube_api_burst }}
- --kube-api-burst={{ . }}
{{- end }}
{{- with $custom.controller_worker_threads }}
- --worker-threads={{ . }}
{{- end }}
{{- with $custom.controller_worker_threads_for_gc }}
- --worker-threads-for-gc={{ . }}
{{- end }}
{{- with $custom.controller_worker_threads_for_podgroup }}
- --worker-threads-for-podgroup={{ . }}
{{- end }}
- -v={{ $custom.controller_log_level }}
{{- range $custom.controller_extra_args }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* Whether a controller of this name runs (`root`, `name`): by --controllers, where the first entry that fits decides. */}}
{{- define "pumice.controllers.runs" -}}
{{- $custom := .root.Values.custom -}}
{{- $list := printf ",%s," ($custom.controller_enabled_controllers | default "" | nospace) -}}
{{- $entry := regexFind (printf ",[-+]*%s," .name) $list -}}
{{- $others := or (contains ",*," $list) (not (regexMatch ",[^-,]" $list)) -}}
{{- $named := and $entry (not (hasPrefix ",-" $entry)) -}}
{{- if and $custom.controller_enable (ternary $named $others (ne $entry "")) -}}
true
{{- end }}
{{- end }}

{{/* Whether the gates of queues are taken away: their controller runs, and its feature gate is on. */}}
{{- define "pumice.controllers.openGates" -}}
{{- $without := "SchedulingGatesQueueAdmission=(0|f|F)" -}}
{{- if not (regexMatch $without (join " " .Values.custom.controller_extra_args)) -}}
{{- include "pumice.controllers.runs" (dict "root" . "name" "queue-gate-controller") -}}
{{- end }}
{{- end }}
