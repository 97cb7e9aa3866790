// Renders the chart as `helm template` does, where Helm is not to be had: the same text/template, sprig and YAML, and Helm's own
// functions (include, tpl, required, toYaml, …). `npm run manifests` builds it with Debian's packages and runs it.
//
//	render CHART RELEASE NAMESPACE [VALUES_FILE...]   every object
//	render -tests CHART ...                           with the pods of `helm test`
//	render -only=NAME CHART ...                       one template, such as NOTES.txt
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type values = map[string]interface{}

// What templates reach as .Files; names are relative to the chart.
type files struct{ chart string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.chart, name))
	if err != nil {
		return "" // as Helm
	}
	return string(text)
}

type apiVersions []string

func (known apiVersions) Has(version string) bool {
	for _, one := range known {
		if one == version {
			return true
		}
	}
	return false
}

func main() {
	only := flag.String("only", "", "name of one template below templates/")
	tests := flag.Bool("tests", false, "with the pods of helm test")
	flag.Parse()
	args := flag.Args()
	if len(args) < 3 {
		stop(fmt.Errorf("usage: render [-only=NAME] CHART RELEASE NAMESPACE [VALUES_FILE...]"))
	}
	text, err := render(args[0], args[1], args[2], args[3:], *only, *tests)
	if err != nil {
		stop(err)
	}
	fmt.Print(text)
}

func stop(err error) {
	fmt.Fprintln(os.Stderr, "render:", err)
	os.Exit(1)
}

func render(chart, release, namespace string, valuesFiles []string, only string, tests bool) (string, error) {
	about, err := readYaml(filepath.Join(chart, "Chart.yaml"))
	if err != nil {
		return "", err
	}
	given, err := readYaml(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return "", err
	}
	for _, path := range valuesFiles {
		more, err := readYaml(path)
		if err != nil {
			return "", err
		}
		given = merged(given, more)
	}
	names, err := templatesOf(chart)
	if err != nil {
		return "", err
	}
	base := fmt.Sprintf("%v/templates", about["name"])
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(chart, "templates", name))
		if err != nil {
			return "", err
		}
		if _, err := all.New(base + "/" + name).Parse(string(text)); err != nil {
			return "", err
		}
	}
	top := values{
		"Values": given,
		"Chart": values{
			"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"],
			"KubeVersion": about["kubeVersion"], "Type": about["type"],
		},
		"Release": values{
			"Name": release, "Namespace": namespace, "Service": "Helm", "Revision": 1, "IsInstall": true, "IsUpgrade": false,
		},
		"Capabilities": values{
			"KubeVersion": values{"Version": "v1.33.0", "Major": "1", "Minor": "33"}, "APIVersions": apiVersions{"v1"},
		},
		"Files": files{chart},
	}
	var out strings.Builder
	for _, name := range names {
		if only == "" && (strings.HasPrefix(name, "tests/") && !tests || !strings.HasSuffix(name, ".yaml")) {
			continue
		}
		if only != "" && name != only {
			continue
		}
		top["Template"] = values{"Name": base + "/" + name, "BasePath": base}
		text, err := execute(all, base+"/"+name, top)
		if err != nil {
			return "", err
		}
		if only != "" {
			return text, nil
		}
		for _, document := range regexp.MustCompile(`(?m)^---\s*$`).Split(text, -1) {
			if strings.TrimSpace(document) == "" {
				continue
			}
			var object values
			if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
				return "", fmt.Errorf("%s: %w\n%s", name, err, document)
			}
			if len(object) == 0 {
				continue
			}
			fmt.Fprintf(&out, "---\n# Source: %s/%s\n%s\n", base, name, strings.Trim(document, "\n"))
		}
	}
	return out.String(), nil
}

func execute(all *template.Template, name string, data interface{}) (string, error) {
	var out bytes.Buffer
	err := all.ExecuteTemplate(&out, name, data)
	return strings.ReplaceAll(out.String(), "<no value>", ""), err
}

func templatesOf(chart string) ([]string, error) {
	folder := filepath.Join(chart, "templates")
	var names []string
	err := filepath.Walk(folder, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		names = append(names, name)
		return err
	})
	sort.Strings(names)
	return names, err
}

func readYaml(path string) (values, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := values{}
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return read, nil
}

// As Helm: maps are merged, everything else is replaced, null removes.
func merged(base, over values) values {
	result := values{}
	for key, value := range base {
		result[key] = value
	}
	for key, value := range over {
		inner, isMap := value.(values)
		before, wasMap := result[key].(values)
		switch {
		case value == nil:
			delete(result, key)
		case isMap && wasMap:
			result[key] = merged(before, inner)
		default:
			result[key] = value
		}
	}
	return result
}

func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["include"] = func(name string, data interface{}) (string, error) { return execute(all, name, data) }
	known["tpl"] = func(text string, data interface{}) (string, error) {
		copied, err := all.Clone()
		if err != nil {
			return "", err
		}
		copied.Funcs(functions(copied))
		if _, err := copied.New("tpl").Parse(text); err != nil {
			return "", err
		}
		return execute(copied, "tpl", data)
	}
	known["required"] = func(warning string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return value, fmt.Errorf("%s", warning)
		}
		return value, nil
	}
	known["toYaml"] = func(value interface{}) string {
		text, err := yaml.Marshal(value)
		if err != nil {
			return "" // as Helm
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	known["fromYaml"] = func(text string) values {
		read := values{}
		if err := yaml.Unmarshal([]byte(text), &read); err != nil {
			read["Error"] = err.Error()
		}
		return read
	}
	known["fromYamlArray"] = func(text string) []interface{} {
		read := []interface{}{}
		if err := yaml.Unmarshal([]byte(text), &read); err != nil {
			read = []interface{}{err.Error()}
		}
		return read
	}
	known["toJson"] = func(value interface{}) string {
		text, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(text)
	}
	known["lookup"] = func(string, string, string, string) values { return values{} }
	return known
}
