{{/* Fetches signatures before anything is started. */}}
{{- define "lazaret.signaturesContainer" -}}
- name: signatures
  image: {{ include "lazaret.image" (dict "image" .Values.clamd.image) }}
  imagePullPolicy: {{ .Values.clamd.image.pullPolicy }}
  # Those of the image, where none are there, and then the newest. Without a way to the servers older ones are better than none:
  # their age is reported.
  command: [sh, -euc]
  args:
    - |
      if ! ls /signatures/*.c[lv]d >/dev/null 2>&1; then
        for file in /var/lib/clamav/*.c[lv]d; do if [ -e "$file" ]; then cp "$file" /signatures/; fi; done
      fi
      {{- if .Values.clamd.signatures.update }}
      freshclam --config-file=/etc/clamav/freshclam.conf --datadir=/signatures --stdout --no-warnings || echo 'no new signatures' >&2
      {{- end }}
      if ! ls -l /signatures/*.c[lv]d; then echo 'no signatures: neither the image nor a server has any' >&2; exit 1; fi
  env:
    - name: TMPDIR
      value: /scratch
  resources:
    {{- toYaml .Values.clamd.signatures.resources | nindent 4 }}
  securityContext:
    {{- include "lazaret.clamdSecurity" . | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - { name: clamd-settings, mountPath: /etc/clamav, readOnly: true }
    - { name: signatures, mountPath: /signatures }
    - { name: scratch, mountPath: /scratch }
{{- end -}}

{{/*
clamd, and freshclam beside it. In a pod of the service they are init containers with restartPolicy Always: started before the
service and ended after it, so that scans under way get their verdict when a pod is stopped.
*/}}
{{- define "lazaret.clamdContainers" -}}
{{- $sidecar := eq .Values.clamd.mode "sidecar" -}}
- name: clamd
  {{- if $sidecar }}
  restartPolicy: Always
  {{- end }}
  image: {{ include "lazaret.image" (dict "image" .Values.clamd.image) }}
  imagePullPolicy: {{ .Values.clamd.image.pullPolicy }}
  # A clamd that was killed leaves its files behind.
  command: [sh, -euc]
  args:
    - |
      find /scratch -mindepth 1 -delete
      exec clamd --config-file=/etc/clamav/clamd.conf
  {{- if not $sidecar }}
  ports:
    - { name: clamd, containerPort: 3310 }
  readinessProbe:
    tcpSocket: { port: clamd }
    periodSeconds: 5
  {{- end }}
  # Loading the signatures takes a minute or two; the service is started when it is done.
  startupProbe:
    exec:
      command: [clamdscan, --config-file=/etc/clamav/clamd.conf, --ping=1]
    periodSeconds: 5
    timeoutSeconds: 10
    failureThreshold: 120
  livenessProbe:
    exec:
      command: [clamdscan, --config-file=/etc/clamav/clamd.conf, --ping=1]
    periodSeconds: 30
    timeoutSeconds: 30
    failureThreshold: 6
  resources:
    {{- toYaml .Values.clamd.resources | nindent 4 }}
  securityContext:
    {{- include "lazaret.clamdSecurity" . | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - { name: clamd-settings, mountPath: /etc/clamav, readOnly: true }
    - { name: clamd-socket, mountPath: /run/clamav }
    - { name: signatures, mountPath: /var/lib/clamav, readOnly: true }
    - { name: scratch, mountPath: /scratch }
    - { name: clamd-tmp, mountPath: /tmp }
{{- if .Values.clamd.signatures.update }}
- name: freshclam
  {{- if $sidecar }}
  restartPolicy: Always
  {{- end }}
  image: {{ include "lazaret.image" (dict "image" .Values.clamd.image) }}
  imagePullPolicy: {{ .Values.clamd.image.pullPolicy }}
  command: [freshclam, --config-file=/etc/clamav/freshclam.conf, --daemon, --foreground, --stdout]
  resources:
    {{- toYaml .Values.clamd.signatures.resources | nindent 4 }}
  securityContext:
    {{- include "lazaret.clamdSecurity" . | nindent 4 }}
  terminationMessagePolicy: FallbackToLogsOnError
  volumeMounts:
    - { name: clamd-settings, mountPath: /etc/clamav, readOnly: true }
    - { name: clamd-socket, mountPath: /run/clamav }
    - { name: signatures, mountPath: /var/lib/clamav }
    - { name: clamd-tmp, mountPath: /tmp }
{{- end }}
{{- end -}}

{{/* But for that of the signatures, which may be a claim. */}}
{{- define "lazaret.clamdVolumes" -}}
- name: clamd-settings
  configMap:
    name: {{ include "lazaret.fullname" . }}-clamd
- name: clamd-socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
- name: clamd-tmp
  emptyDir: { sizeLimit: 1Gi }
- name: scratch
  emptyDir:
    {{- with .Values.clamd.scratch.medium }}
    medium: {{ . }}
    {{- end }}
    sizeLimit: {{ .Values.clamd.scratch.size }}
{{- end -}}
