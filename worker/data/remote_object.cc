#include "worker/data/remote_object.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "aws/requests.h"
#include "aws/s3_answers.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/data/http_get.h"

namespace winnow {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMostListingBytes = 32 << 20;
constexpr size_t kMostKeys = 1'000'000;

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "bytes FIRST-LAST/SIZE"; SIZE may be '*'.
struct ContentRange {
  int64_t first = 0;
  int64_t size = -1;
};
std::optional<ContentRange> ParseContentRange(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = WholeNumber(text.substr(0, dash));
  const auto size = WholeNumber(text.substr(slash + 1));
  if (!first.has_value()) return std::nullopt;
  return ContentRange{*first, size.value_or(-1)};
}

std::string Advice(const RemoteObject& object, int status, const std::string& code, const HttpHead& head) {
  if (object.access == nullptr) {
    if (status == 401 || status == 403)
      return "expected a URL that needs no login, or one that is signed and not expired";
    return status == 404 || status == 410 ? "expected a file there" : "expected the file";
  }
  const AwsCredentials& keys = object.access->credentials;
  if (code == "ExpiredToken" || code == "TokenRefreshRequired" || code == "RequestExpired")
    return fmt::format("the credentials {} have expired; expected ones that are valid", keys.origin);
  if (code == "NoSuchBucket") return "expected a bucket that exists";
  if (code == "RequestTimeTooSkewed") return "expected the worker's clock to be right";
  const std::string region = head.Header("x-amz-bucket-region");
  const bool sane = region.size() < 40 && std::all_of(region.begin(), region.end(), [](unsigned char c) {
                      return c < 0x80 && (std::isalnum(c) != 0 || c == '-');
                    });
  if (status == 301 || status == 307 || code == "AuthorizationHeaderMalformed") {
    return fmt::format("expected the bucket's region in AWS_REGION{}; it was {}",
                       region.empty() || !sane ? "" : ", " + region, object.access->region);
  }
  if (status == 404)
    return "expected an object with that key; for all objects whose keys begin so, a path that ends in '/'";
  if (keys.id.empty()) return fmt::format("no credentials were found {}; expected them there", keys.origin);
  return fmt::format("expected credentials that may read it; these are {}", keys.origin);
}

absl::Status Refusal(const RemoteObject& object, const HttpAnswer& answer) {
  const int status = answer.head.status;
  const std::string code = S3ErrorCode(answer.error_body);
  return absl::FailedPreconditionError(fmt::format("{}: the server answered {}{}; {}", object.shown, status,
                                                   code.empty() ? "" : " (" + code + ")",
                                                   Advice(object, status, code, answer.head)));
}

// One transfer of an object, over as many connections as it takes.
class ObjectTransfer {
 public:
  ObjectTransfer(const RemoteObject& object, ObjectKept kept, ObjectReceiver& receiver)
      : object_(object), kept_(std::move(kept)), receiver_(receiver) {}

  // One connection. True: the object is complete, or unchanged.
  absl::StatusOr<bool> Try(bool slow_reader, const Cancellation& cancellation) {
    std::optional<AwsAccess> access;
    if (object_.access != nullptr) {
      access = *object_.access;
      if (absl::Status status = RenewCredentials(*access, cancellation); !status.ok())
        return absl::Status(status.code(), fmt::format("{}: {}", object_.shown, MessageOf(status)));
    }
    HttpRequest request{object_.url, {}, access.has_value() ? &*access : nullptr, slow_reader};
    const std::string validator = kept_.version.Validator();
    if (kept_.bytes > 0 && !validator.empty()) {
      request.headers.push_back(fmt::format("Range: bytes={}-", kept_.bytes));
      request.headers.push_back("If-Range: " + validator);
    } else if (!kept_.unless_etag.empty()) {
      request.headers.push_back("If-None-Match: " + kept_.unless_etag);
    }
    begun_ = false;
    brought_ = false;
    const absl::StatusOr<HttpAnswer> answer = HttpGet(
        request, [this](const HttpHead& head, std::string_view bytes) { return Take(head, bytes); },
        cancellation);
    if (!answer.ok()) return answer.status();
    const int status = answer->head.status;
    if (status == 304 && !kept_.unless_etag.empty()) {
      unchanged_ = true;
      return true;
    }
    if (status == 416) {  // it has become shorter
      kept_ = {};
      return absl::UnavailableError("the part that was missing is not there any more");
    }
    if (IsPassingStatus(status)) return absl::UnavailableError(fmt::format("the server answered {}", status));
    if (status != 200 && status != 206) return Refusal(object_, *answer);
    // An empty body calls nobody.
    if (!begun_) {
      if (absl::Status begun = BeginBody(answer->head); !begun.ok()) return begun;
    }
    if (kept_.version.size >= 0 && kept_.bytes != kept_.version.size) {
      return absl::UnavailableError(
          fmt::format("the connection ended after {} of {} bytes", kept_.bytes, kept_.version.size));
    }
    return true;
  }

  bool unchanged() const { return unchanged_; }
  bool brought() const { return brought_; }

 private:
  absl::Status BeginBody(const HttpHead& head) {
    begun_ = true;
    ObjectVersion version{-1, head.Header("etag"), head.Header("last-modified")};
    int64_t from = 0;
    if (head.status == 206) {
      const auto range = ParseContentRange(head.Header("content-range"));
      if (!range.has_value() || range->first != kept_.bytes) {
        kept_ = {};
        return absl::UnavailableError("the server sent another part than it was asked for");
      }
      from = range->first;
      version.size = range->size >= 0 ? range->size : kept_.version.size;
    } else if (const auto length = WholeNumber(head.Header("content-length"));
               length.has_value() && head.Header("content-encoding").empty()) {
      version.size = *length;
    }
    kept_.version = version;
    kept_.bytes = from;
    return receiver_.Begin(version, from);
  }

  absl::Status Take(const HttpHead& head, std::string_view bytes) {
    if (!begun_) {
      if (absl::Status begun = BeginBody(head); !begun.ok()) return begun;
    }
    if (kept_.version.size >= 0 && kept_.bytes + static_cast<int64_t>(bytes.size()) > kept_.version.size)
      return absl::UnavailableError("the server sent more bytes than it said");
    if (absl::Status status = receiver_.Add(bytes); !status.ok()) return status;
    kept_.bytes += static_cast<int64_t>(bytes.size());
    brought_ = true;
    return absl::OkStatus();
  }

  const RemoteObject& object_;
  ObjectKept kept_;
  ObjectReceiver& receiver_;
  bool begun_ = false;    // this connection's body
  bool brought_ = false;  // this connection has brought bytes
  bool unchanged_ = false;
};

// Keeps a small object in memory.
class TextReceiver : public ObjectReceiver {
 public:
  explicit TextReceiver(const std::function<void(const std::string&)>& waits) : waits_(waits) {}

  absl::Status Begin(const ObjectVersion&, int64_t from) override {
    text.resize(static_cast<size_t>(from));
    return absl::OkStatus();
  }
  absl::Status Add(std::string_view bytes) override {
    if (text.size() + bytes.size() > kMostListingBytes)
      return absl::FailedPreconditionError("the server's listing is too long");
    text += bytes;
    return absl::OkStatus();
  }
  void Waits(const std::string& why) override { waits_(why); }
  std::string text;

 private:
  const std::function<void(const std::string&)>& waits_;
};

}  // namespace

std::string ObjectVersion::Validator() const {
  if (!etag.empty() && !etag.starts_with("W/")) return etag;
  return modified;
}

absl::StatusOr<bool> ReceiveObject(const RemoteObject& object, ObjectKept kept, ObjectReceiver& receiver,
                                   const TransferPatience& patience, const Cancellation& cancellation,
                                   bool slow_reader) {
  ObjectTransfer transfer(object, std::move(kept), receiver);
  SteadyClock::time_point newest = SteadyClock::now();
  std::chrono::milliseconds pause = patience.first_pause;
  while (true) {
    const absl::StatusOr<bool> done = transfer.Try(slow_reader, cancellation);
    if (done.ok()) return !transfer.unchanged();
    if (!absl::IsUnavailable(done.status())) return done.status();
    if (transfer.brought()) {
      newest = SteadyClock::now();
      pause = patience.first_pause;
    }
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - newest);
    if (silent >= patience.without_bytes) {
      return absl::UnavailableError(fmt::format("{}: nothing came for {} s: {}", object.shown,
                                                silent.count() / 1000, MessageOf(done.status())));
    }
    spdlog::info("{}: {}; it is tried again", object.shown, MessageOf(done.status()));
    receiver.Waits(fmt::format("{}: {}; it is tried again until nothing has come for {} s", object.shown,
                               MessageOf(done.status()),
                               std::chrono::ceil<std::chrono::seconds>(patience.without_bytes).count()));
    if (!cancellation.Sleep(pause)) return absl::CancelledError("not wanted any more");
    pause = std::min(2 * pause, patience.last_pause);
  }
}

absl::StatusOr<std::vector<std::string>> ListObjects(const std::string& shown,
                                                     const std::shared_ptr<const AwsAccess>& access,
                                                     const std::string& bucket, const std::string& prefix,
                                                     const TransferPatience& patience,
                                                     const std::function<void(const std::string&)>& waits,
                                                     const Cancellation& cancellation) {
  std::vector<std::string> keys;
  std::string token;
  const auto wrong = [&shown](const std::string& what) {
    return absl::FailedPreconditionError(fmt::format("{}: {}", shown, what));
  };
  do {
    // Sorted by name, as a signature requires.
    std::string query = "encoding-type=url&list-type=2&prefix=" + AwsEncoded(prefix, false);
    if (!token.empty()) query = "continuation-token=" + AwsEncoded(token, false) + "&" + query;
    const RemoteObject listing{shown, AwsUrl(*access, bucket, "") + "?" + query, access};
    TextReceiver text(waits);
    if (auto got = ReceiveObject(listing, {}, text, patience, cancellation); !got.ok()) return got.status();
    absl::StatusOr<ListedObjects> page = ParseListing(text.text);
    if (!page.ok()) return wrong(MessageOf(page.status()));
    if (!page->next.empty() && page->next == token) return wrong("the server lists the same page again");
    token = page->next;
    for (ListedObjects::Object& object : page->objects) {
      if (!object.key.ends_with('/')) keys.push_back(std::move(object.key));
    }
    if (keys.size() > kMostKeys)
      return wrong(fmt::format("has more than {} objects; expected fewer", kMostKeys));
  } while (!token.empty());
  if (keys.empty()) return wrong("no object's key begins so; expected at least one");
  for (const std::string& key : keys) {
    if (!key.starts_with(prefix)) return wrong("the server lists a key that does not begin so");
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace winnow
