import type { IncomingMessage, ServerResponse } from "node:http";
import { httpServer } from "../loopback-server.ts";

/** SSM, Secrets Manager and EventBridge on loopback, as far as we call them, in the AWS JSON protocol. */
export interface JsonServices extends AsyncDisposable {
  endpoint: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly secrets: ReadonlyMap<string, Secret>;
  /** What was put on buses, in order. */
  readonly events: readonly PutEvent[];
  /** Makes a secret, as a stack or an operator does; without a value it is empty. */
  putSecret(name: string, value?: string): void;
  putParameter(name: string, value: string): void;
  /** Deletes all parameters. */
  forget(): void;
  /** Asked for each call by `Service.Operation`; what it answers is thrown as the service would. */
  fault: (operation: string) => ServiceError | undefined;
  /** Asked for each entry of PutEvents; a code refuses it. */
  refuseEvent: (event: PutEvent) => string | undefined;
  readonly asked: readonly string[];
}

interface Secret {
  value: string | undefined;
  /** ClientRequestToken of each version that was put. */
  tokens: Map<string, string>;
}

interface PutEvent {
  EventBusName: string;
  Source: string;
  DetailType: string;
  Detail: string;
  Resources?: string[];
  Time?: number;
}

export class ServiceError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(code: string, status = 400) {
    super(code);
    this.code = code;
    this.status = status;
  }
}

/** All fields of all calls, each where the call has it. */
interface Input {
  Name: string;
  Value: string;
  Overwrite?: boolean;
  SecretId: string;
  SecretString: string;
  ClientRequestToken: string;
  Entries: PutEvent[];
}

export async function jsonServices(): Promise<JsonServices> {
  const parameters = new Map<string, string>();
  const secrets = new Map<string, Secret>();
  const events: PutEvent[] = [];
  const asked: string[] = [];

  function secretOf(name: string): Secret {
    const secret = secrets.get(name);
    if (!secret) throw new ServiceError("ResourceNotFoundException");
    return secret;
  }

  /** The same token again with other content is refused, as the service does. */
  function putVersion(
    secret: Secret,
    { SecretString, ClientRequestToken }: { SecretString: string; ClientRequestToken: string },
  ) {
    const before = secret.tokens.get(ClientRequestToken);
    if (before !== undefined && before !== SecretString) throw new ServiceError("ResourceExistsException");
    secret.tokens.set(ClientRequestToken, SecretString);
    secret.value = SecretString;
  }

  const operations: Record<string, (input: Input) => object> = {
    "AmazonSSM.GetParameter": ({ Name }) => {
      const value = parameters.get(Name);
      if (value === undefined) throw new ServiceError("ParameterNotFound");
      return { Parameter: { Name, Value: value, Type: "String", Version: 1 } };
    },
    "AmazonSSM.PutParameter": ({ Name, Value, Overwrite }) => {
      if (parameters.has(Name) && !Overwrite) throw new ServiceError("ParameterAlreadyExists");
      parameters.set(Name, Value);
      return { Version: 1, Tier: "Standard" };
    },
    "secretsmanager.GetSecretValue": ({ SecretId }) => {
      const { value } = secretOf(SecretId);
      if (value === undefined) throw new ServiceError("ResourceNotFoundException");
      return { Name: SecretId, SecretString: value, VersionStages: ["AWSCURRENT"] };
    },
    "secretsmanager.CreateSecret": (input) => {
      if (secrets.has(input.Name)) throw new ServiceError("ResourceExistsException");
      const secret = { value: undefined, tokens: new Map() };
      secrets.set(input.Name, secret);
      putVersion(secret, input);
      return { Name: input.Name };
    },
    "secretsmanager.PutSecretValue": (input) => {
      putVersion(secretOf(input.SecretId), input);
      return { Name: input.SecretId };
    },
    "AWSEvents.PutEvents": ({ Entries }) => {
      if (Entries.length > 10) throw new ServiceError("ValidationException");
      const results = Entries.map((entry) => {
        const code = services.refuseEvent(entry);
        if (code !== undefined) return { ErrorCode: code, ErrorMessage: code };
        events.push(entry);
        return { EventId: `event-${events.length}` };
      });
      return { FailedEntryCount: results.filter((result) => "ErrorCode" in result).length, Entries: results };
    },
  };

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(message)).toString();
    const operation = String(message.headers["x-amz-target"]);
    asked.push(operation);
    try {
      if (
        !/^AWS4-HMAC-SHA256 Credential=.+, *SignedHeaders=.+, *Signature=[0-9a-f]{64}$/.test(
          message.headers.authorization ?? "",
        )
      )
        throw new ServiceError("MissingAuthenticationTokenException");
      const fault = services.fault(operation);
      if (fault) throw fault;
      const run = operations[operation];
      if (!run) throw new ServiceError("UnknownOperationException");
      answer(response, 200, run(JSON.parse(body)));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      answer(response, error.status, { __type: error.code, message: error.code });
    }
  }

  const server = await httpServer((message, response) => void serve(message, response));
  const services: JsonServices = {
    endpoint: `http://127.0.0.1:${server.port}`,
    parameters,
    secrets,
    events,
    asked,
    putSecret(name, value) {
      const tokens = secrets.get(name)?.tokens ?? new Map();
      secrets.set(name, { value, tokens });
    },
    putParameter: (name, value) => void parameters.set(name, value),
    forget: () => parameters.clear(),
    fault: () => undefined,
    refuseEvent: () => undefined,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  return services;
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));
}
