#include "server/sagemaker/s3/s3_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "re2/re2.h"
#include "server/sagemaker/s3/payload.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/digests.h"
#include "server/sagemaker/wire/xml.h"

namespace winnow {
namespace {

constexpr char kNameSpace[] = "http://s3.amazonaws.com/doc/2006-03-01/";
constexpr int64_t kMostKeys = 1000;
constexpr size_t kMostKeyBytes = 1024;
constexpr int64_t kMostParts = 10'000;
constexpr int64_t kMostCopiedBytes = 64 << 20;  // as of a part that is sent
constexpr size_t kReadBytes = 1 << 20;
// The headers of its answer that a GET may choose, each by "response-" and its name. Every signature covers
// these parameters, but not others of such names.
constexpr const char* kChosenByGet[] = {"cache-control",    "content-disposition", "content-encoding",
                                        "content-language", "content-type",        "expires"};

using Answered = absl::StatusOr<HttpAnswer>;

std::string IsoTime(int64_t us) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromUnixMicros(us), absl::UTCTimeZone());
}

std::string HttpTime(int64_t us) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromUnixMicros(us), absl::UTCTimeZone());
}

std::string Quoted(const std::string& etag) { return "\"" + etag + "\""; }

std::string Unquoted(std::string_view etag) {
  etag = WithoutBlanks(etag);
  ConsumeFront(etag, "\"");
  if (etag.ends_with('"')) etag.remove_suffix(1);
  return std::string(etag);
}

HttpAnswer XmlAnswer(XmlWriter& xml) {
  HttpAnswer answer;
  answer.headers = {{"Content-Type", "application/xml"}};
  answer.body = xml.Finish();
  return answer;
}

HttpAnswer EmptyAnswer(int status) {
  HttpAnswer answer;
  answer.status = status;
  return answer;
}

absl::Status InvalidArgument(const std::string& message) { return AwsError("InvalidArgument", message); }

bool IsBucketName(const std::string& name) {
  static const auto* const kPattern = new re2::RE2("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]");
  return re2::RE2::FullMatch(name, *kPattern) && name.find("..") == std::string::npos;
}

// What a request is about: the bucket, the key, the parameters.
struct Asked {
  const HttpRequest& request;
  const std::string& account;
  AwsTarget target;
  std::string bucket, key;
};

Asked ReadAsked(const HttpRequest& request, const std::string& account) {
  Asked asked{request, account, ParseAwsTarget(request.target), "", ""};
  const std::string path = PercentDecoded(asked.target.path);
  const size_t slash = path.find('/', 1);
  asked.bucket = path.size() < 2 ? "" : path.substr(1, slash == std::string::npos ? slash : slash - 1);
  asked.key = slash == std::string::npos ? "" : path.substr(slash + 1);
  return asked;
}

// The headers of a new object that it gives back. InvalidArgument: one is not UTF-8.
absl::StatusOr<std::map<std::string, std::string>> KeptHeaders(const HttpRequest& request) {
  std::map<std::string, std::string> kept;
  for (const auto& [name, value] : request.headers) {
    const bool own = name.starts_with("x-amz-meta-") || name == "content-type" || name == "cache-control" ||
                     name == "content-disposition" || name == "content-language" ||
                     name == "content-encoding";
    if (!own || (name == "content-encoding" && value == "aws-chunked")) continue;
    if (!IsUtf8(value))
      return InvalidArgument(fmt::format("The header {} is \"{}\"; expected UTF-8.", name, ValidUtf8(value)));
    kept[name] = value;
  }
  if (!kept.contains("content-type")) kept["content-type"] = "binary/octet-stream";
  return kept;
}

void AddChecksum(HttpAnswer& answer, const std::string& checksum) {
  const size_t colon = checksum.find(": ");
  if (colon != std::string::npos)
    answer.headers.emplace_back(checksum.substr(0, colon), checksum.substr(colon + 2));
}

// The bytes of an object that are asked for; absent: all. InvalidRange.
absl::StatusOr<std::optional<std::pair<int64_t, int64_t>>> RangeOf(const Asked& asked,
                                                                   const ObjectHead& head) {
  using Range = std::optional<std::pair<int64_t, int64_t>>;
  std::string_view text = asked.request.header("range");
  const std::vector<std::string> ends =
      ConsumeFront(text, "bytes=") ? SplitAt(text, '-') : std::vector<std::string>();
  int64_t first = 0;
  int64_t last = head.size - 1;
  if (ends.size() != 2 || (ends[0].empty() && ends[1].empty())) return Range();
  const bool suffix = ends[0].empty();
  if (!suffix && !absl::SimpleAtoi(ends[0], &first)) return Range();
  if (!ends[1].empty() && !absl::SimpleAtoi(ends[1], &last)) return Range();
  if (suffix) {
    first = std::max<int64_t>(0, head.size - last);
    last = head.size - 1;
  }
  last = std::min(last, head.size - 1);
  if (first < 0 || first > last) return AwsError("InvalidRange", "The requested range is not satisfiable");
  return Range(std::pair(first, last));
}

// Whether an object is newer than a header says; absent: it says no time.
std::optional<bool> IsNewerThan(std::string_view header, const ObjectHead& head) {
  absl::Time time;
  std::string ignored;
  if (!absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", std::string(header), &time, &ignored))
    return std::nullopt;
  return head.modified_us / 1'000'000 > absl::ToUnixSeconds(time);
}

// 0, or the status of an answer without the object. A time counts where there is no ETag of its kind.
int ConditionStatus(const Asked& asked, const ObjectHead& head) {
  const std::string_view match = asked.request.header("if-match");
  if (match.empty() && IsNewerThan(asked.request.header("if-unmodified-since"), head) == true) return 412;
  if (!match.empty() && match != "*" && Unquoted(match) != head.etag) return 412;
  const std::string_view none = asked.request.header("if-none-match");
  if (!none.empty() && (none == "*" || Unquoted(none) == head.etag)) return 304;
  if (none.empty() && IsNewerThan(asked.request.header("if-modified-since"), head) == false) return 304;
  return 0;
}

Answered GetObject(ObjectStore& store, const Asked& asked) {
  const absl::StatusOr<ObjectHead> head = store.Get(asked.account, asked.bucket, asked.key);
  if (!head.ok()) return head.status();
  const int condition = ConditionStatus(asked, *head);
  if (condition == 412) return PreconditionFailed();
  HttpAnswer answer;
  answer.headers = {{"ETag", Quoted(head->etag)},
                    {"Last-Modified", HttpTime(head->modified_us)},
                    {"Accept-Ranges", "bytes"}};
  if (condition == 304) {
    answer.status = 304;
    return answer;
  }
  std::map<std::string, std::string> headers = head->headers;
  for (const char* name : kChosenByGet) {
    const std::string wanted = asked.target.value(fmt::format("response-{}", name));
    if (std::any_of(wanted.begin(), wanted.end(), absl::ascii_iscntrl))
      return InvalidArgument(fmt::format("response-{} has a control character", name));
    if (!wanted.empty()) headers[name] = wanted;
  }
  answer.headers.insert(answer.headers.end(), headers.begin(), headers.end());
  const auto range = RangeOf(asked, *head);
  if (!range.ok()) return range.status();
  int64_t from = 0;
  int64_t size = head->size;
  if (*range) {
    from = (*range)->first;
    size = (*range)->second - from + 1;
    answer.status = 206;
    answer.headers.emplace_back("Content-Range",
                                fmt::format("bytes {}-{}/{}", from, (*range)->second, head->size));
  } else if (Lowered(asked.request.header("x-amz-checksum-mode")) == "enabled") {
    AddChecksum(answer, head->checksum);
  }
  answer.source = store.Read(*head, from, size);
  return answer;
}

// The condition on the object that a request writes. NotImplemented: it has another one.
absl::StatusOr<WriteCondition> WriteConditionOf(const Asked& asked) {
  for (const auto& [name, value] : asked.request.headers) {
    const bool known = name == "if-none-match" ? WithoutBlanks(value) == "*" : name == "if-match";
    if ((name.starts_with("if-") || name.starts_with("x-amz-if-") ||
         name.starts_with("x-amz-copy-source-if-")) &&
        !known)
      return AwsError(
          "NotImplemented",
          fmt::format("The condition {}: {} is not offered for writing here; expected If-Match or "
                      "If-None-Match: *.",
                      name, value));
  }
  return WriteCondition{!asked.request.header("if-none-match").empty(),
                        Unquoted(asked.request.header("if-match"))};
}

Answered PutObject(ObjectStore& store, const Asked& asked) {
  absl::StatusOr<Payload> payload = TakePayload(asked.request);
  if (!payload.ok()) return payload.status();
  const absl::StatusOr<WriteCondition> condition = WriteConditionOf(asked);
  if (!condition.ok()) return condition.status();
  absl::StatusOr<std::map<std::string, std::string>> headers = KeptHeaders(asked.request);
  if (!headers.ok()) return headers.status();
  if (absl::Status status = store.FindBucket(asked.account, asked.bucket); !status.ok()) return status;
  ObjectHead head;
  head.key = asked.key;
  head.etag = payload->md5;
  head.headers = *std::move(headers);
  head.checksum = payload->checksum;
  absl::StatusOr<ObjectStore::Draft> draft = store.Write(payload->bytes());
  if (!draft.ok()) return draft.status();
  if (absl::Status status =
          store.Put(asked.account, asked.bucket, std::move(head), *std::move(draft), *condition);
      !status.ok())
    return status;
  HttpAnswer answer;
  answer.headers = {{"ETag", Quoted(payload->md5)}};
  AddChecksum(answer, payload->checksum);
  return answer;
}

// The bucket and the key from which a request copies.
absl::StatusOr<std::pair<std::string, std::string>> CopySourceOf(const Asked& asked) {
  std::string source = PercentDecoded(asked.request.header("x-amz-copy-source"));
  if (source.starts_with('/')) source.erase(0, 1);
  const size_t slash = source.find('/');
  if (slash == std::string::npos || slash + 1 == source.size())
    return InvalidArgument("Copy Source must mention the source bucket and key: sourcebucket/sourcekey");
  return std::pair(source.substr(0, slash), source.substr(slash + 1));
}

Answered CopyObject(ObjectStore& store, const Asked& asked) {
  const auto source = CopySourceOf(asked);
  if (!source.ok()) return source.status();
  const absl::StatusOr<WriteCondition> condition = WriteConditionOf(asked);
  if (!condition.ok()) return condition.status();
  std::optional<std::map<std::string, std::string>> headers;
  if (asked.request.header("x-amz-metadata-directive") == "REPLACE") {
    absl::StatusOr<std::map<std::string, std::string>> kept = KeptHeaders(asked.request);
    if (!kept.ok()) return kept.status();
    headers = *std::move(kept);
  }
  const absl::StatusOr<ObjectHead> copy = store.Copy(asked.account, source->first, source->second,
                                                     asked.bucket, asked.key, std::move(headers), *condition);
  if (!copy.ok()) return copy.status();
  XmlWriter xml("CopyObjectResult", kNameSpace);
  xml.Add("ETag", Quoted(copy->etag));
  xml.Add("LastModified", IsoTime(copy->modified_us));
  return XmlAnswer(xml);
}

// A deletion that ignores its condition loses what the condition was to keep.
absl::Status ConditionOfDeletion() {
  return AwsError("NotImplemented", "Conditions of deletions are not offered here.");
}

Answered DeleteObjects(ObjectStore& store, const Asked& asked) {
  const absl::StatusOr<Payload> payload = TakePayload(asked.request);
  if (!payload.ok()) return payload.status();
  const absl::StatusOr<XmlElement> wanted = ParseXml(std::string(payload->bytes()));
  if (!wanted.ok()) return wanted.status();
  if (absl::Status status = store.FindBucket(asked.account, asked.bucket); !status.ok()) return status;
  XmlWriter xml("DeleteResult", kNameSpace);
  for (const XmlElement& object : wanted->children) {
    if (object.name != "Object") continue;
    const std::string key = object.TextOf("Key");
    const bool conditional =
        std::any_of(object.children.begin(), object.children.end(), [](const XmlElement& member) {
          return member.name == "ETag" || member.name == "LastModifiedTime" || member.name == "Size";
        });
    const absl::Status status =
        conditional ? ConditionOfDeletion() : store.Delete(asked.account, asked.bucket, key);
    if (status.ok() && wanted->TextOf("Quiet") == "true") continue;
    xml.Open(status.ok() ? "Deleted" : "Error");
    xml.Add("Key", key);
    if (!status.ok()) {
      xml.Add("Code", AwsCodeOf(status));
      xml.Add("Message", MessageOf(status));
    }
    xml.Close();
  }
  return XmlAnswer(xml);
}

Answered ListObjects(ObjectStore& store, const Asked& asked) {
  const bool second = asked.target.value("list-type") == "2";
  const std::string prefix = asked.target.value("prefix");
  const std::string delimiter = asked.target.value("delimiter");
  const std::string token = asked.target.value("continuation-token");
  int64_t most = kMostKeys;
  if (const std::string* text = asked.target.find("max-keys")) {
    if (!absl::SimpleAtoi(*text, &most) || most < 0)
      return InvalidArgument("Provided max-keys not an integer or within integer range");
  }
  std::string after = asked.target.value(second ? "start-after" : "marker");
  if (!token.empty()) {
    if (token.size() % 2 != 0 || !std::all_of(token.begin(), token.end(), absl::ascii_isxdigit))
      return InvalidArgument("The continuation token provided is incorrect");
    after = absl::HexStringToBytes(token);
  }
  most = std::min(most, kMostKeys);
  absl::StatusOr<ObjectPage> page = ObjectPage();
  if (most > 0) page = store.List(asked.account, asked.bucket, prefix, delimiter, after, most);
  if (!page.ok()) return page.status();
  const bool encoded = asked.target.value("encoding-type") == "url";
  const auto shown = [&](const std::string& key) { return encoded ? PercentEncoded(key, true) : key; };
  XmlWriter xml("ListBucketResult", kNameSpace);
  xml.Add("Name", asked.bucket);
  xml.Add("Prefix", shown(prefix));
  if (!delimiter.empty()) xml.Add("Delimiter", shown(delimiter));
  xml.Add("MaxKeys", std::to_string(most));
  if (encoded) xml.Add("EncodingType", "url");
  if (second) {
    xml.Add("KeyCount", std::to_string(page->entries.size()));
    if (!token.empty()) xml.Add("ContinuationToken", token);
  } else {
    xml.Add("Marker", shown(after));
  }
  xml.Add("IsTruncated", page->next.empty() ? "false" : "true");
  if (!page->next.empty())
    xml.Add(second ? "NextContinuationToken" : "NextMarker",
            second ? absl::BytesToHexString(page->next) : shown(page->next));
  for (const ObjectPage::Entry& entry : page->entries) {
    if (!entry.prefix.empty()) continue;
    xml.Open("Contents");
    xml.Add("Key", shown(entry.object.key));
    xml.Add("LastModified", IsoTime(entry.object.modified_us));
    xml.Add("ETag", Quoted(entry.object.etag));
    xml.Add("Size", std::to_string(entry.object.size));
    xml.Add("StorageClass", "STANDARD");
    xml.Close();
  }
  for (const ObjectPage::Entry& entry : page->entries) {
    if (entry.prefix.empty()) continue;
    xml.Open("CommonPrefixes");
    xml.Add("Prefix", shown(entry.prefix));
    xml.Close();
  }
  return XmlAnswer(xml);
}

Answered ListBuckets(ObjectStore& store, const Asked& asked) {
  const auto buckets = store.ListBuckets(asked.account);
  if (!buckets.ok()) return buckets.status();
  XmlWriter xml("ListAllMyBucketsResult", kNameSpace);
  xml.Open("Owner");
  xml.Add("ID", asked.account);
  xml.Close();
  xml.Open("Buckets");
  for (const ObjectStore::Bucket& bucket : *buckets) {
    xml.Open("Bucket");
    xml.Add("Name", bucket.name);
    xml.Add("CreationDate", IsoTime(bucket.created_us));
    xml.Close();
  }
  return XmlAnswer(xml);
}

Answered AnswerBucket(ObjectStore& store, const Asked& asked) {
  const std::string& method = asked.request.method;
  if (method == "PUT" && asked.target.query.empty()) {
    if (!IsBucketName(asked.bucket))
      return AwsError("InvalidBucketName",
                      "The specified bucket is not valid: expected 3 to 63 lower-case letters, "
                      "digits, '.' and '-'.");
    if (absl::Status status = store.CreateBucket(asked.account, asked.bucket); !status.ok()) return status;
    HttpAnswer answer;
    answer.headers = {{"Location", "/" + asked.bucket}};
    return answer;
  }
  if (method == "HEAD") {
    if (absl::Status status = store.FindBucket(asked.account, asked.bucket); !status.ok()) return status;
    return EmptyAnswer(200);
  }
  if (method == "DELETE" && asked.target.query.empty()) {
    if (absl::Status status = store.DeleteBucket(asked.account, asked.bucket); !status.ok()) return status;
    return EmptyAnswer(204);
  }
  if (method == "POST" && asked.target.has("delete")) return DeleteObjects(store, asked);
  if (method == "GET" && asked.target.has("location")) {
    if (absl::Status status = store.FindBucket(asked.account, asked.bucket); !status.ok()) return status;
    XmlWriter xml("LocationConstraint", kNameSpace);
    return XmlAnswer(xml);
  }
  static constexpr std::string_view kOfListing[] = {
      "list-type", "prefix",   "delimiter",     "continuation-token", "start-after",
      "marker",    "max-keys", "encoding-type", "fetch-owner",        "X-Amz-Algorithm"};
  const bool lists =
      method == "GET" &&
      std::all_of(asked.target.query.begin(), asked.target.query.end(), [&](const auto& parameter) {
        return parameter.first.starts_with("X-Amz-") ||
               std::find(std::begin(kOfListing), std::end(kOfListing), parameter.first) !=
                   std::end(kOfListing);
      });
  if (lists) return ListObjects(store, asked);
  return AwsError("NotImplemented", "This method of buckets is not offered here.");
}

// Looks whether the upload takes the part, before its bytes are read. Its number.
absl::StatusOr<int64_t> PartNumber(ObjectStore& store, const Asked& asked) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(asked.target.value("partNumber"), &number) || number < 1 || number > kMostParts)
    return InvalidArgument("Part number must be an integer between 1 and 10000, inclusive");
  const std::string upload = asked.target.value("uploadId");
  if (const auto parts = store.ListParts(asked.account, asked.bucket, asked.key, upload); !parts.ok())
    return parts.status();
  return number;
}

absl::Status PutPart(ObjectStore& store, const Asked& asked, int64_t number, std::string_view bytes,
                     const std::string& md5) {
  absl::StatusOr<ObjectStore::Draft> draft = store.Write(bytes);
  if (!draft.ok()) return draft.status();
  UploadedPart part{number, md5, draft->piece(), 0};
  return store.PutPart(asked.account, asked.target.value("uploadId"), std::move(part), *std::move(draft));
}

Answered UploadPart(ObjectStore& store, const Asked& asked) {
  const absl::StatusOr<int64_t> number = PartNumber(store, asked);
  if (!number.ok()) return number.status();
  const absl::StatusOr<Payload> payload = TakePayload(asked.request);
  if (!payload.ok()) return payload.status();
  if (absl::Status status = PutPart(store, asked, *number, payload->bytes(), payload->md5); !status.ok())
    return status;
  HttpAnswer answer;
  answer.headers = {{"ETag", Quoted(payload->md5)}};
  AddChecksum(answer, payload->checksum);
  return answer;
}

// The bytes of another object, or of a range of it, that a part is to have.
absl::StatusOr<std::string> CopiedBytes(ObjectStore& store, const Asked& asked) {
  const auto source = CopySourceOf(asked);
  if (!source.ok()) return source.status();
  for (const auto& [name, value] : asked.request.headers) {
    if (name.starts_with("x-amz-copy-source-if-") && name != "x-amz-copy-source-if-match")
      return AwsError("NotImplemented", fmt::format("The condition {} is not offered here; expected "
                                                    "x-amz-copy-source-if-match.",
                                                    name));
  }
  const absl::StatusOr<ObjectHead> head = store.Get(asked.account, source->first, source->second);
  if (!head.ok()) return head.status();
  const std::string_view match = asked.request.header("x-amz-copy-source-if-match");
  if (!match.empty() && match != "*" && Unquoted(match) != head->etag) return PreconditionFailed();
  int64_t first = 0;
  int64_t last = head->size - 1;
  std::string_view range = asked.request.header("x-amz-copy-source-range");
  if (!range.empty()) {
    const std::vector<std::string> ends =
        ConsumeFront(range, "bytes=") ? SplitAt(range, '-') : std::vector<std::string>();
    if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &first) || !absl::SimpleAtoi(ends[1], &last) ||
        first < 0 || first > last)
      return InvalidArgument("The x-amz-copy-source-range value must be of the form bytes=first-last");
    if (last >= head->size)
      return AwsError(
          "InvalidRange",
          fmt::format("The range ends at {}; the object that is copied has {} bytes", last, head->size));
  }
  const int64_t size = last - first + 1;
  if (size > kMostCopiedBytes)
    return AwsError("EntityTooLarge",
                    fmt::format("The part has {} bytes; expected at most {}", size, kMostCopiedBytes));
  const std::shared_ptr<BodySource> reader = store.Read(*head, first, size);
  std::string bytes;
  while (static_cast<int64_t>(bytes.size()) < size) {
    const std::string next = reader->Next(kReadBytes);
    if (next.empty()) return absl::UnavailableError("the object that is copied cannot be read");
    bytes += next;
  }
  return bytes;
}

Answered UploadPartCopy(ObjectStore& store, const Asked& asked) {
  const absl::StatusOr<int64_t> number = PartNumber(store, asked);
  if (!number.ok()) return number.status();
  const absl::StatusOr<std::string> bytes = CopiedBytes(store, asked);
  if (!bytes.ok()) return bytes.status();
  const std::string md5 = absl::BytesToHexString(Md5Bytes(*bytes));
  if (absl::Status status = PutPart(store, asked, *number, *bytes, md5); !status.ok()) return status;
  XmlWriter xml("CopyPartResult", kNameSpace);
  xml.Add("ETag", Quoted(md5));
  xml.Add("LastModified", IsoTime(absl::ToUnixMicros(absl::Now())));
  return XmlAnswer(xml);
}

Answered CreateUpload(ObjectStore& store, const Asked& asked) {
  absl::StatusOr<std::map<std::string, std::string>> headers = KeptHeaders(asked.request);
  if (!headers.ok()) return headers.status();
  ObjectHead head;
  head.key = asked.key;
  head.headers = *std::move(headers);
  const absl::StatusOr<std::string> upload = store.CreateUpload(asked.account, asked.bucket, head);
  if (!upload.ok()) return upload.status();
  XmlWriter xml("InitiateMultipartUploadResult", kNameSpace);
  xml.Add("Bucket", asked.bucket);
  xml.Add("Key", asked.key);
  xml.Add("UploadId", *upload);
  return XmlAnswer(xml);
}

Answered CompleteUpload(ObjectStore& store, const Asked& asked) {
  const absl::StatusOr<XmlElement> body = ParseXml(asked.request.body);
  if (!body.ok()) return body.status();
  std::vector<std::pair<int64_t, std::string>> wanted;
  for (const XmlElement& part : body->children) {
    int64_t number = 0;
    if (part.name != "Part") continue;
    if (!absl::SimpleAtoi(part.TextOf("PartNumber"), &number) || number < 1 || number > kMostParts)
      return InvalidArgument("Part number must be an integer between 1 and 10000, inclusive");
    if (!wanted.empty() && wanted.back().first >= number)
      return AwsError("InvalidPartOrder", "The list of parts was not in ascending order.");
    wanted.emplace_back(number, Unquoted(part.TextOf("ETag")));
  }
  if (wanted.empty()) return AwsError("MalformedXML", "You must specify at least one part");
  const absl::StatusOr<WriteCondition> condition = WriteConditionOf(asked);
  if (!condition.ok()) return condition.status();
  const absl::StatusOr<ObjectHead> head = store.CompleteUpload(
      asked.account, asked.bucket, asked.key, asked.target.value("uploadId"), wanted, *condition);
  if (!head.ok()) return head.status();
  XmlWriter xml("CompleteMultipartUploadResult", kNameSpace);
  xml.Add("Location", "/" + asked.bucket + "/" + PercentEncoded(asked.key, true));
  xml.Add("Bucket", asked.bucket);
  xml.Add("Key", asked.key);
  xml.Add("ETag", Quoted(head->etag));
  return XmlAnswer(xml);
}

Answered ListParts(ObjectStore& store, const Asked& asked) {
  const std::string upload = asked.target.value("uploadId");
  const auto parts = store.ListParts(asked.account, asked.bucket, asked.key, upload);
  if (!parts.ok()) return parts.status();
  XmlWriter xml("ListPartsResult", kNameSpace);
  xml.Add("Bucket", asked.bucket);
  xml.Add("Key", asked.key);
  xml.Add("UploadId", upload);
  xml.Add("IsTruncated", "false");
  for (const UploadedPart& part : *parts) {
    xml.Open("Part");
    xml.Add("PartNumber", std::to_string(part.number));
    xml.Add("LastModified", IsoTime(part.modified_us));
    xml.Add("ETag", Quoted(part.etag));
    xml.Add("Size", std::to_string(part.piece.size));
    xml.Close();
  }
  return XmlAnswer(xml);
}

// No object has tags. AWS CLI asks before it copies a large one.
Answered GetObjectTagging(ObjectStore& store, const Asked& asked) {
  if (const auto head = store.Get(asked.account, asked.bucket, asked.key); !head.ok()) return head.status();
  XmlWriter xml("Tagging", kNameSpace);
  xml.Open("TagSet");
  xml.Close();
  return XmlAnswer(xml);
}

Answered AnswerObject(ObjectStore& store, const Asked& asked) {
  const std::string& method = asked.request.method;
  if (asked.key.size() > kMostKeyBytes) return AwsError("KeyTooLongError", "Your key is too long");
  if (method == "GET" && asked.target.has("tagging")) return GetObjectTagging(store, asked);
  static constexpr std::string_view kNotOffered[] = {"acl",     "tagging",    "retention", "legal-hold",
                                                     "torrent", "attributes", "restore",   "select"};
  for (const std::string_view name : kNotOffered) {
    if (asked.target.has(name))
      return AwsError("NotImplemented",
                      "The method of objects with ?" + std::string(name) + " is not offered here.");
  }
  const bool of_upload = asked.target.has("uploadId");
  if (method == "GET" && of_upload) return ListParts(store, asked);
  if (method == "GET" || method == "HEAD") return GetObject(store, asked);
  if (method == "PUT" && of_upload) {
    const bool copies = !asked.request.header("x-amz-copy-source").empty();
    return copies ? UploadPartCopy(store, asked) : UploadPart(store, asked);
  }
  if (method == "PUT" && !asked.request.header("x-amz-copy-source").empty()) return CopyObject(store, asked);
  if (method == "PUT") return PutObject(store, asked);
  if (method == "POST" && asked.target.has("uploads")) return CreateUpload(store, asked);
  if (method == "POST" && of_upload) return CompleteUpload(store, asked);
  if (method == "DELETE") {
    for (const auto& [name, value] : asked.request.headers) {
      if (name.starts_with("if-") || name.starts_with("x-amz-if-")) return ConditionOfDeletion();
    }
    const absl::Status status =
        of_upload ? store.AbortUpload(asked.account, asked.bucket, asked.key, asked.target.value("uploadId"))
                  : store.Delete(asked.account, asked.bucket, asked.key);
    if (!status.ok()) return status;
    return EmptyAnswer(204);
  }
  return AwsError("NotImplemented", "This method of objects is not offered here.");
}

}  // namespace

HttpAnswer S3Service::Answer(const HttpRequest& request, const std::string& account,
                             const std::string& request_id) {
  const Asked asked = ReadAsked(request, account);
  const std::string_view owner = request.header("x-amz-expected-bucket-owner");
  Answered answer = AwsError("NotImplemented", "This method of S3 is not offered here.");
  if (!owner.empty() && owner != account) {
    answer = AwsError("AccessDenied", "Access Denied");
  } else if (asked.bucket.empty()) {
    if (request.method == "GET") answer = ListBuckets(store_, asked);
  } else {
    answer = asked.key.empty() ? AnswerBucket(store_, asked) : AnswerObject(store_, asked);
  }
  if (!answer.ok()) return Error(answer.status(), asked.target.path, request_id);
  answer->headers.emplace_back("x-amz-request-id", request_id);
  return *std::move(answer);
}

HttpAnswer S3Service::Error(const absl::Status& status, const std::string& resource,
                            const std::string& request_id) {
  const std::string code = AwsCodeOf(status);
  XmlWriter xml("Error");
  xml.Add("Code", code == "InternalFailure" ? "InternalError" : code);
  xml.Add("Message", MessageOf(status));
  xml.Add("Resource", resource);
  xml.Add("RequestId", request_id);
  HttpAnswer answer = XmlAnswer(xml);
  answer.status = HttpStatusOfAwsCode(code);
  answer.headers.emplace_back("x-amz-request-id", request_id);
  return answer;
}

}  // namespace winnow
