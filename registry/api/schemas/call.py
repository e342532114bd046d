"""How a capability is called: the member `call` of its record."""

from typing import Annotated, Any, NotRequired

from pydantic import Field

from registry.api.schemas.base import Shape


class Call(Shape):
    """How a capability is called in its own protocol. Other members depend on `kind`.

    Credentials and other values that only the caller has are placeholders in capitals that begin with `YOUR_`.
    """

    kind: Annotated[
        str,
        Field(
            description="`http`, `mcp_tool`, `mcp_server` (a server whose tools no document lists), `a2a_skill`, "
            "`woa_operation`, or `navigation` (a page to `open`).",
            examples=["http"],
        ),
    ]
    request: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="The request as a template: method, URL (RFC 6570), fixed headers, content type, "
                "parameters with their places, and the JSON Schema of the body.",
                examples=[
                    {
                        "method": "POST",
                        "url": "https://api.pigeonpost.example/v2/parcels{?dry_run}",
                        "content_type": "application/json",
                        "parameters": [
                            {"name": "weight_g", "in": "body", "required": True},
                            {"name": "dry_run", "in": "query", "required": False},
                        ],
                        "body_schema": {
                            "type": "object",
                            "properties": {"weight_g": {"type": "integer", "minimum": 1}},
                            "required": ["weight_g"],
                        },
                    }
                ],
            ),
        ]
    ]
    credentials: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="Any one of `alternatives` suffices, and all credentials of it are needed. `required` is "
                "null where no document says it. `issuers` of a credential are the hosts where clients get it: a token "
                "of a host of somebody else may be worth more there than here.",
                examples=[
                    {
                        "required": True,
                        "alternatives": [
                            [
                                {
                                    "type": "api_key",
                                    "in": "header",
                                    "name": "X-Key",
                                    "placeholder": "YOUR_KEY",
                                    "value": "YOUR_KEY",
                                }
                            ]
                        ],
                    }
                ],
            ),
        ]
    ]
    example: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="One complete request: all required parameters have values that are valid under their "
                "schemas, the document's own where it gives any.",
                examples=[
                    {
                        "method": "POST",
                        "url": "https://api.pigeonpost.example/v2/parcels",
                        "headers": {"X-Key": "YOUR_KEY", "Content-Type": "application/json"},
                        "body": {"weight_g": 250},
                    }
                ],
            ),
        ]
    ]
    curl: NotRequired[
        Annotated[
            str,
            Field(
                description="The example as a line to copy: sh, bash, zsh, ksh, csh, fish and PowerShell 7.3 or newer "
                "read the same words. cmd.exe and Windows PowerShell drop the double quotes of a JSON body but run "
                "nothing else.",
                examples=[
                    'curl --globoff --request POST --url https://api.pigeonpost.example/v2/parcels --header "X-Key: '
                    'YOUR_KEY" --header "Content-Type: application/json" --data-raw \'{"weight_g":250}\''
                ],
            ),
        ]
    ]
    curl_omitted: NotRequired[
        Annotated[
            str,
            Field(
                description="Why there is no line: no quoting means the same in every shell, or it would be too long.",
                examples=["a value has characters that shells read differently; send the example instead"],
            ),
        ]
    ]
    arguments: NotRequired[
        Annotated[dict[str, Any], Field(description="The values of the example by name.", examples=[{"weight_g": 250}])]
    ]
    derived: NotRequired[
        Annotated[list[str], Field(description="Values that no document gives and that were made.", examples=[[]])]
    ]
    missing: NotRequired[
        Annotated[
            list[dict[str, str]],
            Field(
                description="What the example lacks, because the documents do not say it.",
                examples=[[{"what": "parameters", "why": "no document describes the parameters"}]],
            ),
        ]
    ]
    initialize: NotRequired[
        Annotated[dict[str, Any], Field(description="MCP: the messages that come first.", examples=[{}])]
    ]
    client_configuration: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="MCP: the server's entry for a client, by address or by the package to run.",
                examples=[{"mcpServers": {"Pigeonpost": {"url": "https://api.pigeonpost.example/mcp"}}}],
            ),
        ]
    ]
    packages: NotRequired[
        Annotated[list[dict[str, Any]], Field(description="MCP: how each package is installed.", examples=[[]])]
    ]
    source: NotRequired[
        Annotated[
            dict[str, str],
            Field(
                description="Where a document describes the call.",
                examples=[
                    {"document": "https://api.pigeonpost.example/openapi.json", "pointer": "", "format": "openapi"}
                ],
            ),
        ]
    ]
