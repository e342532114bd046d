{{- define "waypost.fullname" -}}
{{- if contains "waypost" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-waypost" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "waypost.selector" -}}
app.kubernetes.io/name: waypost
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "waypost.labels" -}}
{{ include "waypost.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "waypost.secret" -}}
- name: {{ .variable }}
  valueFrom: {secretKeyRef: {name: {{ .secret.name | quote }}, key: {{ .secret.key | quote }}}}
{{- end }}

{{/* "true" if a component may not see a secret: keys of the search server go only to those that need them. */}}
{{- define "waypost.isWithheld" -}}
{{- if eq .variable "MEILI_MASTER_KEY" -}}true
{{- else if hasPrefix "MEILI_" .variable -}}
{{- if not (or (has .component (list "worker" "schedule")) (and (eq .component "api") (eq .variable "MEILI_SEARCH_KEY"))) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/* Environment of a component: the settings, the secrets it may see, and where its volumes are. */}}
{{- define "waypost.environment" -}}
{{- $root := .root -}}
{{- $own := dict "WAYPOST_DATA" "/data" "WAYPOST_OPT_OUT_FILE" "/opt-outs/opt-outs.log" -}}
{{- if $root.Values.dumps.enabled }}{{ $_ := set $own "WAYPOST_DUMPS" "/dumps" }}{{ else }}{{ $_ := set $own "WAYPOST_EXPORT_INTERVAL" "0" }}{{ end -}}
{{- if $root.Values.signingKeysSecret }}{{ $_ := set $own "WAYPOST_SIGNING_KEYS" "/signing-keys" }}{{ end -}}
{{- if $root.Values.secrets.MEILI_MASTER_KEY }}{{ $_ := set $own "MEILI_KEYS" "/keys" }}{{ end -}}
{{- range $variable, $value := merge (dict) $root.Values.settings $own }}
- {name: {{ $variable }}, value: {{ ternary (printf "%.15g" $value) $value (kindIs "float64" $value) | toString | quote }}}
{{- end }}
{{- range $variable, $secret := $root.Values.secrets }}
{{- if not (include "waypost.isWithheld" (dict "variable" $variable "component" $.component)) }}
{{ include "waypost.secret" (dict "variable" $variable "secret" $secret) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "waypost.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "waypost.container" -}}
image: {{ include "waypost.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* The pod of a component. Its values say what resources it needs; what it runs stands in waypost.run.COMPONENT. */}}
{{- define "waypost.pod" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $values := .values -}}
{{- $crawls := has $component (list "worker" "schedule") -}}
{{- $serves := or $crawls (eq $component "api") -}}
{{- $makesKeys := and $serves $root.Values.secrets.MEILI_MASTER_KEY -}}
metadata:
  labels:
    {{- include "waypost.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ $component }}
    {{- if $serves }}
    waypost/metrics: "true"
    {{- end }}
  {{- with $root.Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - {name: {{ . | quote }}}
    {{- end }}
  {{- end }}
  {{- with $root.Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  restartPolicy: {{ if $serves }}Always{{ else if eq $component "migrate" }}Never{{ else }}OnFailure{{ end }}
  terminationGracePeriodSeconds: 30 # a stop takes ten seconds
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- if $serves }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "waypost.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ $component }}
    {{- end }}
  {{- end }}
  {{- with $root.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $makesKeys }}
  initContainers:
    - name: search-keys # the only one that sees the master key
      {{- include "waypost.container" $root | nindent 6 }}
      args: [search-keys, --out, /keys]
      env:
        - {name: MEILI_URL, value: {{ $root.Values.settings.MEILI_URL | quote }}}
        {{- with $root.Values.settings.MEILI_INDEX }}
        - {name: MEILI_INDEX, value: {{ . | quote }}}
        {{- end }}
        {{- include "waypost.secret" (dict "variable" "MEILI_MASTER_KEY" "secret" $root.Values.secrets.MEILI_MASTER_KEY) | nindent 8 }}
      resources: {requests: {cpu: 50m, memory: 128Mi}, limits: {memory: 256Mi}}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: keys, mountPath: /keys}
  {{- end }}
  containers:
    - name: {{ $component }}
      {{- include "waypost.container" $root | nindent 6 }}
      {{- include (printf "waypost.run.%s" $component) $root | nindent 6 }}
      env: {{- include "waypost.environment" (dict "root" $root "component" $component) | trim | nindent 8 }}
      resources: {{- toYaml $values.resources | nindent 8 }}
      volumeMounts:
        - {name: tmp, mountPath: /tmp}
        - {name: data, mountPath: /data}
        - {name: opt-outs, mountPath: /opt-outs}
        {{- if and $root.Values.dumps.enabled $serves }}
        - {name: dumps, mountPath: /dumps, readOnly: {{ eq $component "api" }}}
        {{- end }}
        {{- if and $root.Values.signingKeysSecret $serves }}
        - {name: signing-keys, mountPath: /signing-keys, readOnly: true}
        {{- end }}
        {{- if $makesKeys }}
        - {name: keys, mountPath: /keys/search, subPath: search, readOnly: true}
        {{- if $crawls }}
        - {name: keys, mountPath: /keys/feeding, subPath: feeding, readOnly: true}
        {{- end }}
        {{- end }}
  volumes:
    - {name: tmp, emptyDir: {sizeLimit: 1Gi}}
    - {name: data, emptyDir: {sizeLimit: {{ $values.dataSize | default "1Gi" }}}}
    - name: opt-outs
      {{- if or (eq $component "opt-outs") (and $serves (eq $root.Values.optOuts.mode "shared")) }}
      persistentVolumeClaim: {claimName: {{ include "waypost.optOutsClaim" $root }}}
      {{- else }}
      emptyDir: {sizeLimit: 1Gi}
      {{- end }}
    {{- if and $root.Values.dumps.enabled $serves }}
    - name: dumps
      persistentVolumeClaim: {claimName: {{ include "waypost.dumpsClaim" $root }}}
    {{- end }}
    {{- if and $root.Values.signingKeysSecret $serves }}
    - name: signing-keys
      secret: {secretName: {{ $root.Values.signingKeysSecret }}, defaultMode: 0440}
    {{- end }}
    {{- if $makesKeys }}
    - {name: keys, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
    {{- end }}
{{- end }}
