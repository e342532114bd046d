// Calls a few tools with the official client for Go and prints what it found as JSON: program URL.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "waypost-conformance", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, nil)
	check(err)
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	check(err)
	found, err := session.CallTool(ctx, &mcp.CallToolParams{
		Name: "discover_services", Arguments: map[string]any{"q": "send an email"},
	})
	check(err)
	var content struct {
		Services []struct {
			Domain string `json:"domain"`
		} `json:"services"`
	}
	raw, err := json.Marshal(found.StructuredContent)
	check(err)
	check(json.Unmarshal(raw, &content))
	wrong, err := session.CallTool(ctx, &mcp.CallToolParams{
		Name: "get_service", Arguments: map[string]any{"domain": "nothing.example"},
	})
	check(err)
	domain := content.Services[0].Domain
	read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "waypost://service/" + domain})
	check(err)
	var resource struct {
		Domain string `json:"domain"`
	}
	check(json.Unmarshal([]byte(read.Contents[0].Text), &resource))
	said, err := json.Marshal(map[string]any{
		"version": session.InitializeResult().ProtocolVersion, "tools": len(tools.Tools), "first": domain,
		"error": wrong.IsError, "resource": resource.Domain,
	})
	check(err)
	fmt.Println(string(said))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
