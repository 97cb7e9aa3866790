import { hash } from "node:crypto";
import { emailSubject, emailText } from "../../../../deliver/findings-topic.ts";
import type { MailSettings } from "../mail-settings.ts";
import { SEND_SECONDS } from "../outbox.ts";
import { type MailServer, mailServer } from "./mail-server.ts";
import { failedWith, type Sender, type SendOutcome } from "./sender.ts";

export interface EmailSenderOptions extends MailSettings {
  to: string;
  timeoutMs?: number;
}

const AT_ONCE = 2;

/** A finding as an email for people. Connections to the mail server are kept for the next ones. */
export function emailSender({ smtpUrl, from, to, timeoutMs = SEND_SECONDS * 1000 }: EmailSenderOptions): Sender {
  const domain = from.replace(/^.*@|>$/g, "");
  let server: MailServer | undefined;

  function drop(): void {
    server?.close();
    server = undefined;
  }

  return {
    atOnce: AT_ONCE,
    async send({ message: { id, body } }, signal) {
      const message = JSON.parse(body);
      const given = Promise.withResolvers<SendOutcome>();
      // A mail can be given up only with its connection. Who sends next gets a new one.
      const giveUp = (): void => {
        drop();
        given.resolve({ kind: "failed", code: "ETIMEDOUT" });
      };
      const timer = setTimeout(giveUp, timeoutMs);
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        signal.throwIfAborted();
        server ??= mailServer(smtpUrl, AT_ONCE);
        const sent = server.send({
          from,
          to,
          subject: emailSubject(message),
          text: emailText(message),
          textEncoding: "quoted-printable",
          messageId: `<${fitForHeader(id)}@${domain}>`,
          headers: { "Auto-Submitted": "auto-generated" },
        });
        return await Promise.race([sent.then((): SendOutcome => ({ kind: "sent" }), failedWith), given.promise]);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      }
    },
    async close() {
      drop();
    },
  };
}

/** Our ids as they are; any other by its digest. */
function fitForHeader(id: string): string {
  return /^[\w.-]{1,200}$/.test(id) ? id : hash("sha256", id);
}
