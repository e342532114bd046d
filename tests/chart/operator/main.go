// Reads objects of the Prometheus operator from standard input as strictly as it does: prints the kind and name of each,
// or the field that it does not know.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err == nil {
			err = yaml.Unmarshal(document, &kind)
		}
		var object metav1.Object
		switch kind.Kind {
		case v1.ServiceMonitorsKind:
			object = &v1.ServiceMonitor{}
		case v1.PrometheusRuleKind:
			object = &v1.PrometheusRule{}
		default:
			err = fmt.Errorf("no kind of the operator: %q", kind.Kind)
		}
		if err == nil {
			err = yaml.UnmarshalStrict(document, object)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(kind.Kind, object.GetName())
	}
}
