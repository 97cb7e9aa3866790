{{- define "lazaret.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "lazaret.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "lazaret.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "lazaret.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Of all objects of the release. */}}
{{- define "lazaret.selector" -}}
app.kubernetes.io/name: {{ include "lazaret.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lazaret.labels" -}}
{{ include "lazaret.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lazaret.isFleet" -}}
{{- if ne .Values.platform "embedded" }}yes{{ end -}}
{{- end -}}

{{/* `repository:tag`, or `repository@digest`. Takes the image's values and the tag to use when there is none. */}}
{{- define "lazaret.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .tag }}
{{- end -}}
{{- end -}}

{{/* The environment variable of a setting: dataDir → LAZARET_DATA_DIR. */}}
{{- define "lazaret.variable" -}}
LAZARET_{{ regexReplaceAll "([A-Z])" . "_${1}" | upper }}
{{- end -}}

{{/* Settings with lists as the environment takes them, sorted by name. */}}
{{- define "lazaret.environment" -}}
{{- range $name, $value := . }}
- name: {{ include "lazaret.variable" $name }}
  value: {{ if kindIs "slice" $value }}{{ join "," $value | quote }}{{ else if kindIs "float64" $value }}{{ int64 $value | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end -}}

{{/* What the restricted pod security standard asks for, and more. */}}
{{- define "lazaret.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ int .Values.users.service }}
runAsGroup: {{ int .Values.users.group }}
fsGroup: {{ int .Values.users.group }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "lazaret.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
privileged: false
readOnlyRootFilesystem: true
runAsNonRoot: true
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "lazaret.clamdSecurity" -}}
{{ include "lazaret.containerSecurity" . }}
runAsUser: {{ int .Values.users.clamd }}
{{- end -}}

{{- define "lazaret.secretName" -}}
{{- .Values.secrets.name | default (include "lazaret.fullname" .) -}}
{{- end -}}

{{/* Soft: a pod that cannot be spread is better than none. */}}
{{- define "lazaret.spread" -}}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
- maxSkew: 1
  topologyKey: {{ $key }}
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "lazaret.selector" $.root | nindent 6 }}
      app.kubernetes.io/component: {{ $.component }}
{{- end }}
{{- end -}}
