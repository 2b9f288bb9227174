{{- define "gannet.labels" -}}
app.kubernetes.io/name: gannet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gannet.secret" -}}
{{ .Values.existingSecret | default .Release.Name }}
{{- end }}

{{- define "gannet.fromSecret" -}}
valueFrom:
  secretKeyRef: { name: {{ include "gannet.secret" .root }}, key: {{ .key }} }
{{- end }}
