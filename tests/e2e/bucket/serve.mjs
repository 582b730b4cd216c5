// s3rver from npm, a server of S3 that keeps the bucket "models" in a folder: node serve.mjs FOLDER. Prints its port.
import {createRequire} from 'node:module';
import path from 'node:path';

const here = path.dirname(new URL(import.meta.url).pathname);
const packages = process.env.WINNOW_TEST_PACKAGES || here;
const S3rver = createRequire(path.join(packages, 'package.json'))('s3rver');
const server = new S3rver({port: 0, address: '127.0.0.1', silent: true, directory: process.argv[2], configureBuckets: [{name: 'models'}]});
const {port} = await server.run();
console.log(port);
