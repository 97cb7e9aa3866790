import { Aws, Duration, type Stack } from "aws-cdk-lib";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { tell } from "../parts/told.ts";

export interface Queues {
  jobs: Queue;
  deadLetters: Queue;
}

/** As long as SQS keeps anything. */
const KEPT = Duration.days(14);
/** The lease of a job; workers renew it while they work. */
const LEASE = Duration.seconds(30);
/** A last resort: workers bury what kills them, and know better than SQS whose fault it was. */
const MAX_RECEIVES = 20;

/**
 * Where jobs wait, and where those end that killed their workers or could not be delivered. Encrypted with SQS's own
 * key: whoever may send to the queue, such as the notifications of a bucket, then needs no rights to a key.
 */
export function queues(stack: Stack): Queues {
  const shared = { retentionPeriod: KEPT, encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true };
  const deadLetters = new Queue(stack, "DeadLetters", shared);
  const jobs = new Queue(stack, "Jobs", {
    ...shared,
    visibilityTimeout: LEASE,
    receiveMessageWaitTime: Duration.seconds(20),
    deadLetterQueue: { queue: deadLetters, maxReceiveCount: MAX_RECEIVES },
  });
  letProducersSend(jobs);
  tell(stack, "QueueUrl", jobs.queueUrl);
  tell(stack, "QueueArn", jobs.queueArn);
  tell(stack, "DeadLettersUrl", deadLetters.queueUrl);
  tell(stack, "DeadLettersArn", deadLetters.queueArn);
  return { jobs, deadLetters };
}

/** A bucket, topic or event rule of this account that is connected to the queue is guarded with no code. */
function letProducersSend(jobs: Queue): void {
  // A bucket's ARN does not tell whose it is.
  const owner = { StringEquals: { "aws:SourceAccount": Aws.ACCOUNT_ID } };
  const from = (arn: string): object => ({ ArnLike: { "aws:SourceArn": `arn:${Aws.PARTITION}:${arn}` } });
  const producers = {
    s3: { ...from("s3:*:*:*"), ...owner },
    sns: from(`sns:*:${Aws.ACCOUNT_ID}:*`),
    events: from(`events:*:${Aws.ACCOUNT_ID}:rule/*`),
  };
  for (const [name, conditions] of Object.entries(producers)) {
    jobs.addToResourcePolicy(
      new PolicyStatement({
        sid: `From${name}`,
        principals: [new ServicePrincipal(`${name}.amazonaws.com`)],
        actions: ["sqs:SendMessage"],
        resources: [jobs.queueArn],
        conditions,
      }),
    );
  }
}
