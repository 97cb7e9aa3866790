// The peers are installed by `npm run bench` only: without it there is nothing to check their use against.
declare module "bullmq";
declare module "clamscan";
declare module "graphile-worker";
declare module "ioredis";
declare module "multer";
declare module "pg-boss";

declare namespace Express {
  interface Request {
    file: { buffer: Buffer; size: number };
  }
}
