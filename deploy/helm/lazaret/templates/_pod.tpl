{{/*
The pod of a component: takes `root`, `component` (embedded, api, worker) and `role`.
*/}}
{{- define "lazaret.pod" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
{{- $own := index $values .component -}}
{{- $takesRequests := ne .role "worker" -}}
{{- $sidecar := eq $values.clamd.mode "sidecar" -}}
{{- $scheme := ternary "HTTPS" "HTTP" (ne $values.tlsSecret "") -}}
{{- $secrets := dict -}}
{{- range $setting, $key := $values.secrets.files -}}
{{- /* A worker answers nobody who needs a key. */ -}}
{{- if or $takesRequests (not (has $setting (list "apiKeys" "adminKeys" "viewerKeys"))) -}}
{{- $_ := set $secrets $setting $key -}}
{{- end -}}
{{- end -}}
{{- $keys := concat (values $secrets) $values.secrets.more (compact (list $values.awsSdk.credentialsKey)) | uniq | sortAlpha -}}
{{- $set := dict
  "platform" $values.platform
  "role" .role
  "host" $values.listenAddress
  "port" "8040"
  "adminListen" (printf "%s:8041" (ternary "[::]" $values.listenAddress (eq $values.listenAddress "::")))
  "dataDir" "/var/lib/lazaret/data"
-}}
{{- if $sidecar }}{{ $_ := set $set "clamd" "unix:/run/clamav/clamd.ctl" }}{{ end -}}
{{- if eq $values.clamd.mode "shared" }}{{ $_ := set $set "clamd" (printf "tcp://%s-clamd-0.%s-clamd:3310" (include "lazaret.fullname" $root) (include "lazaret.fullname" $root)) }}{{ end -}}
{{- if eq $values.clamd.mode "none" }}{{ $_ := set $set "clamd" "none" }}{{ end -}}
{{- if eq $values.migrate.by "job" }}{{ $_ := set $set "migrate" "off" }}{{ end -}}
{{- if $values.rulesConfigMap }}{{ $_ := set $set "rulesDir" "/etc/lazaret/rules" }}{{ end -}}
{{- if $values.tenantsConfigMap }}{{ $_ := set $set "tenantsFile" "/etc/lazaret/tenants/tenants.yaml" }}{{ end -}}
{{- if $values.tlsSecret }}{{ $_ := set $set "tlsCert" "/etc/lazaret/tls/tls.crt" }}{{ $_ := set $set "tlsKey" "/etc/lazaret/tls/tls.key" }}{{ end -}}
{{- /* The later wins. Not mergeOverwrite, which leaves out what is false or 0. */ -}}
{{- $settings := dict -}}
{{- range $layer := list $values.settings $own.settings $set }}{{ range $name, $value := $layer }}{{ $_ := set $settings $name $value }}{{ end }}{{ end -}}
serviceAccountName: {{ include "lazaret.fullname" $root }}
# Nobody here talks to the API of Kubernetes.
automountServiceAccountToken: false
# A Service called lazaret would set LAZARET_PORT for every pod of the namespace, and that is a setting.
enableServiceLinks: false
terminationGracePeriodSeconds: {{ int $values.terminationGracePeriodSeconds }}
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "lazaret.podSecurity" $root | nindent 2 }}
{{- if $sidecar }}
initContainers:
  {{- include "lazaret.signaturesContainer" $root | nindent 2 }}
  {{- include "lazaret.clamdContainers" $root | nindent 2 }}
{{- end }}
containers:
  - name: lazaret
    image: {{ include "lazaret.image" (dict "image" $values.image "tag" $root.Chart.AppVersion) }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args: [serve]
    env:
      {{- include "lazaret.environment" $settings | trim | nindent 6 }}
      {{- range $setting, $key := $secrets }}
      - name: {{ include "lazaret.variable" $setting }}_FILE
        value: /etc/lazaret/secrets/{{ $key }}
      {{- end }}
      - name: TMPDIR
        value: /tmp
      {{- range $name, $value := $values.environment }}
      - name: {{ $name }}
        value: {{ $value | quote }}
      {{- end }}
      {{- with $values.awsSdk.region }}
      - name: AWS_REGION
        value: {{ . }}
      {{- end }}
      {{- with $values.awsSdk.credentialsKey }}
      - name: AWS_SHARED_CREDENTIALS_FILE
        value: /etc/lazaret/secrets/{{ . }}
      {{- end }}
    ports:
      - { name: http, containerPort: 8040 }
      - { name: admin, containerPort: 8041 }
    # A migration of the database comes before the first answer.
    startupProbe:
      httpGet: { path: /livez, port: http, scheme: {{ $scheme }} }
      periodSeconds: 2
      timeoutSeconds: 5
      failureThreshold: 300
    # Whether queue and engine could do their work now. On SIGTERM it says no at once.
    readinessProbe:
      httpGet: { path: /readyz, port: http, scheme: {{ $scheme }} }
      periodSeconds: 5
      timeoutSeconds: 10
      failureThreshold: 2
    # Only whether the process answers: a clamd or a database that is away gets no better by a restart.
    livenessProbe:
      httpGet: { path: /livez, port: http, scheme: {{ $scheme }} }
      periodSeconds: 10
      timeoutSeconds: 10
      failureThreshold: 6
    resources:
      {{- toYaml $own.resources | nindent 6 }}
    securityContext:
      {{- include "lazaret.containerSecurity" $root | nindent 6 }}
    terminationMessagePolicy: FallbackToLogsOnError
    volumeMounts:
      - { name: data, mountPath: /var/lib/lazaret }
      - { name: tmp, mountPath: /tmp }
      {{- if $keys }}
      - { name: secrets, mountPath: /etc/lazaret/secrets, readOnly: true }
      {{- end }}
      {{- if $values.tlsSecret }}
      - { name: tls, mountPath: /etc/lazaret/tls, readOnly: true }
      {{- end }}
      {{- if $values.rulesConfigMap }}
      - { name: rules, mountPath: /etc/lazaret/rules, readOnly: true }
      {{- end }}
      {{- if $values.tenantsConfigMap }}
      - { name: tenants, mountPath: /etc/lazaret/tenants, readOnly: true }
      {{- end }}
      {{- if $sidecar }}
      # Its configuration, its signatures and its temporary folder, to see that clamd is as it should be and has room to work.
      - { name: clamd-settings, mountPath: /etc/clamav, readOnly: true }
      - { name: clamd-socket, mountPath: /run/clamav, readOnly: true }
      - { name: signatures, mountPath: /var/lib/clamav, readOnly: true }
      - { name: scratch, mountPath: /scratch, readOnly: true }
      {{- end }}
volumes:
  {{- if ne .component "embedded" }}
  # Nothing in it must last.
  - name: data
    emptyDir: { sizeLimit: 1Gi }
  {{- end }}
  - name: tmp
    emptyDir: { sizeLimit: 22Gi }
  {{- if $keys }}
  - name: secrets
    secret:
      secretName: {{ include "lazaret.secretName" $root }}
      defaultMode: 0440
      items:
        {{- range $keys }}
        - { key: {{ . }}, path: {{ . }} }
        {{- end }}
  {{- end }}
  {{- with $values.tlsSecret }}
  - name: tls
    secret: { secretName: {{ . }}, defaultMode: 0440 }
  {{- end }}
  {{- with $values.rulesConfigMap }}
  - name: rules
    configMap: { name: {{ . }} }
  {{- end }}
  {{- with $values.tenantsConfigMap }}
  - name: tenants
    configMap: { name: {{ . }} }
  {{- end }}
  {{- if $sidecar }}
  {{- include "lazaret.clamdVolumes" $root | nindent 2 }}
  - name: signatures
    emptyDir: { sizeLimit: {{ $values.clamd.signatures.size }} }
  {{- end }}
{{- if ne .component "embedded" }}
topologySpreadConstraints:
  {{- include "lazaret.spread" . | trim | nindent 2 }}
{{- end }}
{{- with $own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a pod: takes what lazaret.pod takes. */}}
{{- define "lazaret.podMetadata" -}}
labels:
  {{- include "lazaret.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  lazaret/service: "true"
annotations:
  kubectl.kubernetes.io/default-container: lazaret
  {{- if eq .root.Values.clamd.mode "sidecar" }}
  # clamd reads its configuration at its start only.
  checksum/clamd: {{ include (print .root.Template.BasePath "/clamd-settings.yaml") .root | sha256sum }}
  {{- end }}
  {{- with (index .root.Values .component).annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
