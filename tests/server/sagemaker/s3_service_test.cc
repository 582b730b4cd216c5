#include "server/sagemaker/s3/s3_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "server/sagemaker/s3/object_store.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;

// An account with the bucket "bucket".
struct Bucket {
  Bucket() { REQUIRE(store->CreateBucket("1", "bucket").ok()); }

  HttpAnswer Call(const std::string& method, const std::string& target, const Headers& headers = {},
                  const std::string& body = "") {
    return service.Answer({method, "/bucket" + target, headers, body, "ipv4:127.0.0.1:1"}, "1", "id");
  }

  TempFolder folder;
  std::unique_ptr<ObjectStore> store = *ObjectStore::Open(folder / "objects");
  S3Service service{*store};
};

// The code of an answer that is an error; "" for others.
std::string CodeIn(const HttpAnswer& answer) {
  const size_t begin = answer.body.find("<Code>");
  const size_t end = answer.body.find("</Code>");
  return end == std::string::npos ? "" : answer.body.substr(begin + 6, end - begin - 6);
}

std::string ContentOf(const HttpAnswer& answer) {
  std::string bytes;
  while (answer.source != nullptr && static_cast<int64_t>(bytes.size()) < answer.source->size()) {
    const std::string next = answer.source->Next(1 << 16);
    REQUIRE_FALSE(next.empty());
    bytes += next;
  }
  return bytes;
}

TEST_CASE("Checksums of all kinds are checked, as headers and behind the chunks of a body") {
  Bucket bucket;
  const std::map<std::string, std::string> sums = {{"crc32", "y/Q5Jg=="},
                                                   {"crc32c", "4waSgw=="},
                                                   {"crc64nvme", "rosUhgp5mIg="},
                                                   {"sha1", "98O8HYCOBHMq32eZZczDTKeuNEE="}};
  for (const auto& [kind, sum] : sums) {
    INFO(kind);
    const std::string header = "x-amz-checksum-" + kind;
    const HttpAnswer put = bucket.Call("PUT", "/" + kind, {{header, sum}}, "123456789");
    CHECK(put.status == 200);
    CHECK(std::count(put.headers.begin(), put.headers.end(), std::pair(header, sum)) == 1);
    CHECK(ContentOf(bucket.Call("GET", "/" + kind)) == "123456789");
    const HttpAnswer wrong = bucket.Call("PUT", "/" + kind, {{header, sum}}, "123456780");
    CHECK((wrong.status == 400 && CodeIn(wrong) == "BadDigest"));
    const Headers chunked = {{"x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"},
                             {"x-amz-trailer", header}};
    const std::string chunks = "9\r\n123456789\r\n0\r\n" + header + ":";
    CHECK(bucket.Call("PUT", "/" + kind, chunked, chunks + sum + "\r\n\r\n").status == 200);
    CHECK(CodeIn(bucket.Call("PUT", "/" + kind, chunked, chunks + "AAAA\r\n\r\n")) == "BadDigest");
  }
  CHECK(bucket.Call("PUT", "/md9", {{"x-amz-checksum-md9", "AAAA"}}, "1").status == 501);
}

TEST_CASE("A header of an object that is not UTF-8 is refused by its name") {
  Bucket bucket;
  const Headers headers = {{"x-amz-meta-author", "Ren\xe9"}};
  Headers copies = {{"x-amz-copy-source", "bucket/key"}, {"x-amz-metadata-directive", "REPLACE"}};
  copies.insert(headers.begin(), headers.end());
  REQUIRE(bucket.Call("PUT", "/key", {}, "bytes").status == 200);
  for (const HttpAnswer& answer :
       {bucket.Call("PUT", "/new", headers, "bytes"), bucket.Call("POST", "/new?uploads", headers),
        bucket.Call("PUT", "/new", copies)}) {
    INFO(answer.body);
    CHECK((answer.status == 400 && CodeIn(answer) == "InvalidArgument"));
    CHECK(answer.body.find("x-amz-meta-author") != std::string::npos);
  }
  CHECK(bucket.Call("GET", "/new").status == 404);
  REQUIRE(bucket.Call("PUT", "/new", {{"x-amz-meta-author", "Ren\xc3\xa9"}}, "bytes").status == 200);
}

// The text of the first element of that name.
std::string ElementIn(const HttpAnswer& answer, const std::string& name) {
  const size_t begin = answer.body.find("<" + name + ">");
  const size_t end = answer.body.find("</" + name + ">");
  REQUIRE(end != std::string::npos);
  return answer.body.substr(begin + name.size() + 2, end - begin - name.size() - 2);
}

TEST_CASE("A part of an upload is copied from an object or from a range of it") {
  Bucket bucket;
  const std::string content = std::string(5 << 20, 'a') + "0123456789";
  REQUIRE(bucket.Call("PUT", "/a%20b", {}, content).status == 200);
  REQUIRE(bucket.Call("PUT", "/short", {}, "end").status == 200);
  const std::string upload = ElementIn(bucket.Call("POST", "/copy?uploads"), "UploadId");
  const auto copy = [&](int number, const std::string& source, Headers headers) {
    headers["x-amz-copy-source"] = source;
    return bucket.Call("PUT", "/copy?partNumber=" + std::to_string(number) + "&uploadId=" + upload, headers);
  };
  const std::string range = "bytes=2-5242882";
  const HttpAnswer first = copy(1, "bucket/a%20b", {{"x-amz-copy-source-range", range}});
  const HttpAnswer second = copy(2, "/bucket/short", {});
  REQUIRE((first.status == 200 && second.status == 200));
  const auto code = [&](const Headers& headers) { return CodeIn(copy(1, "bucket/a%20b", headers)); };
  CHECK(code({{"x-amz-copy-source-range", "bytes=0-5242890"}}) == "InvalidRange");
  for (const char* wrong : {"bytes=3-", "bytes=-3", "bytes=3-2", "3-4", "bytes=3-x"})
    CHECK(code({{"x-amz-copy-source-range", wrong}}) == "InvalidArgument");
  CHECK(code({{"x-amz-copy-source-if-match", "\"x\""}}) == "PreconditionFailed");
  CHECK(code({{"x-amz-copy-source-if-none-match", "\"x\""}}) == "NotImplemented");
  CHECK(CodeIn(copy(1, "bucket/none", {})) == "NoSuchKey");
  std::string parts;
  for (const auto& [number, etag] :
       {std::pair("1", ElementIn(first, "ETag")), std::pair("2", ElementIn(second, "ETag"))})
    parts += std::string("<Part><PartNumber>") + number + "</PartNumber><ETag>" + etag + "</ETag></Part>";
  const HttpAnswer whole = bucket.Call("POST", "/copy?uploadId=" + upload, {},
                                       "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>");
  INFO(whole.body);
  REQUIRE(whole.status == 200);
  CHECK(ContentOf(bucket.Call("GET", "/copy")) == content.substr(2, 5242881) + "end");
  CHECK(bucket.Call("GET", "/copy?tagging").status == 200);  // which AWS CLI asks for
  CHECK(CodeIn(bucket.Call("GET", "/none?tagging")) == "NoSuchKey");
}

TEST_CASE("A deletion with a condition is refused") {
  Bucket bucket;
  REQUIRE(bucket.Call("PUT", "/key", {}, "bytes").status == 200);
  for (const char* name : {"if-match", "if-none-match", "x-amz-if-match-size"}) {
    INFO(name);
    CHECK(CodeIn(bucket.Call("DELETE", "/key", {{name, "*"}})) == "NotImplemented");
  }
  for (const char* member : {"<ETag>x</ETag>", "<Size>9</Size>",
                             "<LastModifiedTime>Wed, 21 Oct 2015 07:28:00 GMT</LastModifiedTime>"}) {
    INFO(member);
    const HttpAnswer answer =
        bucket.Call("POST", "/?delete", {},
                    std::string("<Delete><Object><Key>key</Key>") + member + "</Object></Delete>");
    CHECK((answer.status == 200 && CodeIn(answer) == "NotImplemented"));
  }
  CHECK(ContentOf(bucket.Call("GET", "/key")) == "bytes");
  CHECK(bucket.Call("POST", "/?delete", {}, "<Delete><Object><Key>key</Key></Object></Delete>").status ==
        200);
  CHECK(bucket.Call("GET", "/key").status == 404);
}

}  // namespace
}  // namespace winnow
