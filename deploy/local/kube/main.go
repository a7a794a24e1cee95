// Command kube is one executable holding the programs of a small Kubernetes:
// the first argument names the program, the rest are its own flags.
//
// One executable instead of five keeps the build short and the cache small,
// because the programs share nearly all of their code.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs maps a program's name to what runs it with its arguments and gives its exit code.
var programs = map[string]func(args []string) int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runCommand(apiserver.NewAPIServerCommand),
	"kube-controller-manager": runCommand(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 runCommand(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
}

func main() {
	if len(os.Args) < 2 {
		fail("no program named")
	}
	run, known := programs[os.Args[1]]
	if !known {
		fail(fmt.Sprintf("unknown program %q", os.Args[1]))
	}
	os.Exit(run(os.Args[2:]))
}

// fail says what was wrong with the command line and which programs there are.
func fail(reason string) {
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "kube: %s; give one of %s first\n", reason, strings.Join(names, ", "))
	os.Exit(2)
}

// runCommand adapts a Kubernetes command constructor; the constructor runs only when the program
// is chosen, since building a command registers flags and metrics.
func runCommand(build func() *cobra.Command) func([]string) int {
	return func(args []string) int {
		command := build()
		command.SetArgs(args)
		return cli.Run(command)
	}
}

// runEtcd never returns normally: etcd ends the process itself.
func runEtcd(args []string) int {
	etcdmain.Main(append([]string{"etcd"}, args...))
	return 0
}
