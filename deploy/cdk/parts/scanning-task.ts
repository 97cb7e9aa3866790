import { Duration, type Stack } from "aws-cdk-lib";
import { Repository } from "aws-cdk-lib/aws-ecr";
import {
  type Compatibility,
  type ContainerDefinition,
  ContainerDependencyCondition,
  ContainerImage,
  CpuArchitecture,
  LogDriver,
  NetworkMode,
  OperatingSystemFamily,
  TaskDefinition,
} from "aws-cdk-lib/aws-ecs";
import { type IRole, Role } from "aws-cdk-lib/aws-iam";
import type { LogGroup } from "aws-cdk-lib/aws-logs";
import { explained } from "./explained.ts";
import { keptLogs } from "./kept-logs.ts";
import { tasksOfThisAccount } from "./permissions.ts";

export interface ScanningTaskOptions {
  compatibility: Compatibility;
  taskRole: IRole;
  imageRepository: string;
  imageTag: string;
  /** Where freshclam gets signatures; `-` for the servers of ClamAV. */
  signatureMirror: string;
  /** Settings of the service besides those that every scanning task has. */
  environment: Readonly<Record<string, string>>;
  /** Of both containers together; Fargate gives 20 unless told otherwise. */
  storageGiB?: number;
}

export interface ScanningTask {
  definition: TaskDefinition;
  service: ContainerDefinition;
  /** The service's own lines, as JSON. */
  logs: LogGroup;
}

export const PORT = 8040;
/** Two vCPUs scan 16 files at once with engine P. clamd holds two sets of signatures while it loads new ones. */
const VCPUS = 2;
const MEMORY_MIB = 8192;
/** The service puts back what is not done after 25 seconds, and clamd may need longer for its last file. */
const STOP = Duration.seconds(60);

/**
 * The service with clamd beside it. They share the loopback interface, and no volume: clamd, which reads hostile files,
 * sees neither the settings nor the files of the service. (ECS gives the role to a task, not to a container: code that
 * took over clamd could ask for its credentials.)
 */
export function scanningTask(stack: Stack, options: ScanningTaskOptions): ScanningTask {
  const execution = new Role(stack, "ExecutionRole", { assumedBy: tasksOfThisAccount() });
  const definition = new TaskDefinition(stack, "Task", {
    compatibility: options.compatibility,
    networkMode: NetworkMode.AWS_VPC,
    cpu: String(VCPUS * 1024),
    memoryMiB: String(MEMORY_MIB),
    runtimePlatform: { cpuArchitecture: CpuArchitecture.X86_64, operatingSystemFamily: OperatingSystemFamily.LINUX },
    taskRole: options.taskRole,
    executionRole: execution,
    ...(options.storageGiB && { ephemeralStorageGiB: options.storageGiB }),
  });
  const repository = Repository.fromRepositoryName(stack, "Images", options.imageRepository);
  const logs = keptLogs(stack, "ServiceLogs");

  const clamd = definition.addContainer("clamd", {
    image: ContainerImage.fromEcrRepository(repository, `${options.imageTag}-clamd`),
    essential: true,
    readonlyRootFilesystem: true,
    environment: { SIGNATURE_MIRROR: options.signatureMirror },
    logging: LogDriver.awsLogs({ logGroup: keptLogs(stack, "ClamdLogs"), streamPrefix: "clamd" }),
    stopTimeout: STOP,
    healthCheck: {
      command: ["CMD", "clamdscan", "--config-file=/etc/lazaret/clamd.conf", "--ping=1"],
      interval: Duration.seconds(15),
      retries: 4,
      // The first download of signatures, and loading them.
      startPeriod: Duration.seconds(300),
    },
  });
  const service = definition.addContainer("service", {
    image: ContainerImage.fromEcrRepository(repository, options.imageTag),
    essential: true,
    readonlyRootFilesystem: true,
    environment: {
      LAZARET_PLATFORM: "aws",
      LAZARET_CLAMD: "tcp://127.0.0.1:3310",
      LAZARET_PORT: String(PORT),
      ...options.environment,
    },
    logging: LogDriver.awsLogs({ logGroup: logs, streamPrefix: "service" }),
    portMappings: [{ containerPort: PORT }],
    stopTimeout: STOP,
    healthCheck: {
      command: ["CMD", "node", "-e", ASK_HEALTH],
      interval: Duration.seconds(15),
      retries: 3,
      startPeriod: Duration.seconds(60),
    },
  });
  service.addContainerDependencies({ container: clamd, condition: ContainerDependencyCondition.HEALTHY });

  for (const [container, volumes] of [
    [clamd, { signatures: "/var/lib/clamav", unpacked: "/var/lib/clamav-tmp" }],
    [service, { work: "/var/lib/lazaret" }],
  ] as const) {
    for (const [name, containerPath] of Object.entries(volumes)) {
      definition.addVolume({ name });
      container.addMountPoints({ sourceVolume: name, containerPath, readOnly: false });
    }
  }
  explained(execution, {
    "AwsSolutions::AwsSolutions-IAM5[Resource::*]":
      "ecr:GetAuthorizationToken knows no resources; the images come from the one repository",
  });
  explained(definition, {
    "AwsSolutions::AwsSolutions-ECS2":
      "settings are no secrets: those that are (API keys, signing key) are read from Secrets Manager",
  });
  return { definition, service, logs };
}

const ASK_HEALTH = `fetch("http://127.0.0.1:${PORT}/healthz").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`;
