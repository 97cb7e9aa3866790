// The peers are installed by `npm run bench` only: without it there is nothing to check their use against.
declare module "bullmq";
declare module "clamscan";
declare module "ioredis";
declare module "multer";

declare namespace Express {
  interface Request {
    file: { buffer: Buffer; size: number };
  }
}
