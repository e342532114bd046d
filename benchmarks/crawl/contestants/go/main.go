// A crawler on Go's net/http: one goroutine per host in flight, keep-alive, HTTP/1.1, certificates verified.
// No guard, nothing stored; answers are read and counted. Reads the task and prints the result like the others.
package main

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type task struct {
	Hosts          []string `json:"hosts"`
	Paths          []string `json:"paths"`
	InFlight       int      `json:"in_flight"`
	Timeout        float64  `json:"timeout"`
	ConnectTimeout float64  `json:"connect_timeout"`
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

func cpu() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	spent := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return spent.Seconds()
}

func status(field string) float64 {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		if parts := strings.Fields(line); len(parts) > 1 && parts[0] == field+":" {
			kilobytes, _ := strconv.ParseFloat(parts[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

func main() {
	var given task
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &given)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	client := &http.Client{
		Timeout:       seconds(given.Timeout),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: seconds(given.ConnectTimeout)}).DialContext,
			TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxIdleConns:        given.InFlight,
			MaxIdleConnsPerHost: 1,
			DisableCompression:  true,
		},
	}
	started, before, memory := time.Now(), cpu(), status("VmRSS")
	var answers, hits atomic.Int64
	hosts, workers := make(chan string), sync.WaitGroup{}
	for i := 0; i < given.InFlight; i++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for host := range hosts {
				for _, path := range given.Paths {
					response, err := client.Get("https://" + host + path)
					if err != nil {
						continue
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
					answers.Add(1)
					if response.StatusCode == 200 && response.Header.Get("Content-Type") == "application/json" {
						hits.Add(1)
					}
				}
			}
		}()
	}
	for _, host := range given.Hosts {
		hosts <- host
	}
	close(hosts)
	workers.Wait()
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"hosts": len(given.Hosts), "answers": answers.Load(), "hits": hits.Load(), "cpu": cpu() - before,
		"wall": time.Since(started).Seconds(), "rss_start": memory, "rss_peak": status("VmHWM"),
	})
}
