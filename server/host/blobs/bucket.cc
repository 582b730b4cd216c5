#include "server/host/blobs/bucket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <optional>
#include <random>
#include <utility>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "aws/aws_files.h"
#include "aws/s3_answers.h"
#include "base/environment.h"
#include "base/status_text.h"
#include "server/host/pools/curl_headers.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr long kConnectMs = 5'000;
constexpr long kSilentSeconds = 10;  // without a byte: the connection is taken for dead
constexpr long kTransferMs = 60'000;
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLastPause{3'000};
constexpr milliseconds kAskAwayEvery{2'000};
constexpr int64_t kMostErrorBytes = 64 << 10;
constexpr int kOk = 200;
constexpr size_t kIdleHandles = 16;
constexpr int64_t kMostCredentialsBytes = 1 << 20;
constexpr milliseconds kProbePatience{2'000};
constexpr int64_t kMostListingBytes = 8 << 20;  // of a page of 1,000 objects

std::string Variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = EnvironmentVariable(name); !value.empty()) return value;
  }
  return "";
}

// Absent: the environment has none. They are removed from it: trainers of local workers would inherit them.
absl::StatusOr<std::optional<AwsCredentials>> CredentialsOfEnvironment() {
  static const AwsCredentials found{
      TakeEnvironmentVariable("AWS_ACCESS_KEY_ID"), TakeEnvironmentVariable("AWS_SECRET_ACCESS_KEY"),
      TakeEnvironmentVariable("AWS_SESSION_TOKEN"), "in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
  if (found.id.empty() && found.secret.empty()) return std::optional<AwsCredentials>();
  if (!found.id.empty() && !found.secret.empty()) return std::optional(found);
  return absl::FailedPreconditionError(
      fmt::format("{} is not set, but {} is; expected both, or --s3-credentials",
                  found.id.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                  found.id.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID"));
}

// A file as ~/.aws/credentials, of which AWS_PROFILE or "default" counts.
absl::StatusOr<AwsCredentials> CredentialsOfFile(const std::string& path) {
  const auto wrong = [&path](const std::string& what) {
    return absl::FailedPreconditionError(fmt::format("--s3-credentials: {} {}", path, what));
  };
  const absl::StatusOr<OpenFile> file = OpenFile::Open(path, O_RDONLY);
  if (!file.ok()) return wrong("cannot be read: " + MessageOf(file.status()));
  struct stat about;
  if (fstat(file->descriptor(), &about) != 0 || !S_ISREG(about.st_mode)) return wrong("is not a file");
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return wrong(
        fmt::format("has mode {:04o}: others may use it; expected 0600 (chmod 600)", about.st_mode & 07777));
  }
  const absl::StatusOr<std::string> text = file->ReadAt(0, kMostCredentialsBytes);
  if (!text.ok()) return wrong("cannot be read: " + MessageOf(text.status()));
  const AwsSections sections = ParseAwsFile(*text);
  std::string profile = Variable({"AWS_PROFILE"});
  if (profile.empty()) profile = "default";
  const auto section = sections.find(profile);
  if (section == sections.end()) {
    return wrong(
        fmt::format("has no section [{}]; expected one, with aws_access_key_id and "
                    "aws_secret_access_key",
                    profile));
  }
  const auto value = [&section](const char* key) {
    const auto found = section->second.find(key);
    return found == section->second.end() ? "" : found->second;
  };
  AwsCredentials found{value("aws_access_key_id"), value("aws_secret_access_key"), value("aws_session_token"),
                       "in " + path};
  if (!found.id.empty() && !found.secret.empty()) return found;
  return wrong(fmt::format(
      "lacks aws_access_key_id or aws_secret_access_key in its section [{}]; expected both", profile));
}

struct Exchange {
  CURL* curl;
  Mutex& mutex;
  const bool& ends;
  int64_t most = 0;
  BlobBuffer* into = nullptr;
  std::string region, body;
  bool too_long = false;
};

size_t TakeHeaderOfBucket(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  constexpr std::string_view kName = "x-amz-bucket-region:";
  const std::string_view line(data, size * count);
  const bool is_region =
      line.size() > kName.size() && std::equal(kName.begin(), kName.end(), line.begin(), [](char a, char b) {
        return a == static_cast<char>(std::tolower(static_cast<unsigned char>(b)));
      });
  if (is_region) exchange.region = std::string(WithoutOuterBlanks(line.substr(kName.size())));
  return size * count;
}

size_t TakeBytesOfBucket(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  long status = 0;
  curl_easy_getinfo(exchange.curl, CURLINFO_RESPONSE_CODE, &status);
  const bool is_object = exchange.into != nullptr && status == kOk;
  const int64_t kept = is_object ? exchange.into->size() : static_cast<int64_t>(exchange.body.size());
  const int64_t most = is_object ? exchange.most : std::max(exchange.most, kMostErrorBytes);
  const auto room = static_cast<size_t>(most - kept);
  const std::string_view bytes(data, std::min(room, size * count));
  if (is_object) {
    if (!exchange.into->Append(bytes)) return 0;
  } else {
    exchange.body += bytes;
  }
  exchange.too_long = size * count > room;
  return exchange.too_long ? 0 : size * count;
}

int StopsTransfer(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& exchange = *static_cast<Exchange*>(user);
  MutexLock lock(exchange.mutex);
  return exchange.ends ? 1 : 0;
}

bool IsPlain(const std::string& text) {
  return text.size() < 40 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '-');
         });
}

// Whether it is the settings' fault, which does not pass by itself: a name that nobody has, or another
// protocol or authority than expected.
bool IsOfSettings(CURLcode code) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return true;
    default:
      return false;
  }
}

std::string AdviceFor(CURLcode code) {
  const bool certificate = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  return certificate
             ? "; expected a certificate of its name by the authority in --s3-ca, or by one of the system"
             : "; expected the URL of an S3-compatible service in --s3-endpoint";
}

// A service that does not know the method, or the version of HTTP, will not know them later.
bool IsPassing(int status, const std::string& body) {
  return (IsPassingStatus(status) && status != 501 && status != 505) || S3ErrorCode(body) == "RequestTimeout";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bucket>> Bucket::Open(BucketSettings settings) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (initialised != CURLE_OK) return absl::FailedPreconditionError("libcurl could not be started");
  if (settings.region.empty()) settings.region = Variable({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.region.empty()) settings.region = "us-east-1";
  if (!IsPlain(settings.region)) {
    return absl::FailedPreconditionError(
        fmt::format("--s3-region: \"{}\" is no region; expected letters, digits and '-', as in eu-west-1",
                    settings.region));
  }
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  std::unique_ptr<Bucket> bucket(new Bucket(std::move(settings)));
  if (const auto read = bucket->ReadCredentials(); !read.ok()) return read.status();
  return bucket;
}

Bucket::Bucket(BucketSettings settings)
    : settings_(std::move(settings)),
      role_("server", [](const std::string& name) { return EnvironmentVariable(name.c_str()); }) {}

absl::StatusOr<AwsCredentials> Bucket::FindCredentials() {
  if (!settings_.credentials_file.empty()) return CredentialsOfFile(settings_.credentials_file);
  absl::StatusOr<std::optional<AwsCredentials>> found = CredentialsOfEnvironment();
  if (found.ok() && !found->has_value()) {
    is_of_role_ = true;
    found = role_.Get([this] {
      const MutexLock lock(mutex_);
      return ends_;
    });
  }
  if (!found.ok()) return found.status();
  if (found->has_value()) return **std::move(found);
  return absl::FailedPreconditionError(
      "there are no credentials for the bucket; expected --s3-credentials, both AWS_ACCESS_KEY_ID and "
      "AWS_SECRET_ACCESS_KEY in the environment, or a role of this container or machine");
}

absl::StatusOr<bool> Bucket::ReadCredentials() {
  absl::StatusOr<AwsCredentials> read = FindCredentials();
  if (!read.ok()) return read.status();
  MutexLock lock(mutex_);
  const bool differ =
      read->id != credentials_.id || read->secret != credentials_.secret || read->token != credentials_.token;
  credentials_ = *std::move(read);
  return differ;
}

std::string Bucket::name() const {
  return fmt::format("bucket {} at {}", settings_.bucket,
                     settings_.endpoint.empty() ? "AWS in " + settings_.region : settings_.endpoint);
}

std::string Bucket::UrlOf(const std::string& key) const {
  return ObjectUrl(settings_.endpoint, settings_.region, settings_.bucket, key);
}

absl::Status Bucket::Away(const std::string& reason) const {
  return absl::UnavailableError(fmt::format("{}: {}", name(), reason));
}

absl::Status Bucket::Wrong(const std::string& reason) const {
  return absl::FailedPreconditionError(fmt::format("{}: {}", name(), reason));
}

Bucket::Request Bucket::To(const char* method, std::string url) const {
  Request request{method, std::move(url)};
  request.patience = settings_.patience;
  return request;
}

absl::Status Bucket::Refusal(const Answer& answer) const {
  const std::string code = S3ErrorCode(answer.body);
  std::string advice;
  std::string origin;
  {
    MutexLock lock(mutex_);
    origin = credentials_.origin;
  }
  if (answer.status == 301 || answer.status == 307 || code == "AuthorizationHeaderMalformed") {
    advice = fmt::format("; expected the bucket's region in --s3-region{}; it was {}",
                         !answer.region.empty() && IsPlain(answer.region) ? ", " + answer.region : "",
                         settings_.region);
  } else if (code == "NoSuchBucket" || answer.status == 404) {
    advice = code.empty() ? "; expected the URL of an S3-compatible service in --s3-endpoint"
                          : "; expected a bucket that exists in --artifacts";
  } else if (code == "RequestTimeTooSkewed") {
    advice = "; expected this machine's clock to be right";
  } else if (answer.status == 401 || answer.status == 403 || code == "ExpiredToken") {
    advice = fmt::format(
        "; expected credentials in --s3-credentials, in the environment, or of a role, that may read, write, "
        "delete and list; these are {}",
        origin);
  } else if (code.empty() && !IsPassing(answer.status, answer.body)) {
    advice = "; expected the URL of an S3-compatible service in --s3-endpoint";
  }
  const std::string text = fmt::format("the service answered {}{}{}", answer.status,
                                       code.empty() ? "" : " (" + code + ")", advice);
  return IsPassing(answer.status, answer.body) ? Away(text) : Wrong(text);
}

Bucket::Handle Bucket::TakeHandle() {
  MutexLock lock(mutex_);
  if (idle_.empty()) return Handle(curl_easy_init());
  Handle handle = std::move(idle_.back());
  idle_.pop_back();
  curl_easy_reset(handle.get());  // the connection stays
  return handle;
}

absl::StatusOr<Bucket::Answer> Bucket::SendOnce(const Request& request) {
  Handle handle = TakeHandle();
  CURL* const curl = handle.get();
  if (curl == nullptr) return Away("libcurl has no memory");
  if (is_of_role_) {
    if (const auto read = ReadCredentials(); !read.ok()) return Away(MessageOf(read.status()));
  }
  AwsCredentials credentials;
  {
    MutexLock lock(mutex_);
    credentials = credentials_;
  }
  if (request.into != nullptr) request.into->Clear();
  Exchange exchange{curl, mutex_, ends_, request.most, request.into, "", "", false};
  CurlHeaders headers;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);  // it is signed as it is
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "winnow-server/" WINNOW_VERSION);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTransferMs);
  if (!settings_.tls_ca.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, settings_.tls_ca.c_str());
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
  if (!request.body.empty()) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    headers.Add("Content-Type: application/octet-stream");
  }
  SignForS3(curl, credentials, settings_.region, request.sha256,
            [&headers](const std::string& line) { headers.Add(line); });
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, TakeHeaderOfBucket);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBytesOfBucket);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, StopsTransfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  char error[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_ABORTED_BY_CALLBACK) return Away("the server is stopping");
  if (code != CURLE_OK && !exchange.too_long) {
    const std::string reason = error[0] != '\0' ? error : curl_easy_strerror(code);
    return IsOfSettings(code) ? Wrong(reason + AdviceFor(code)) : Away(reason);
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (!exchange.too_long) {
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
    MutexLock lock(mutex_);
    if (idle_.size() < kIdleHandles) idle_.push_back(std::move(handle));
  }
  return Answer{static_cast<int>(status), std::move(exchange.region), std::move(exchange.body)};
}

absl::StatusOr<Bucket::Answer> Bucket::Send(const Request& request) {
  bool once = false;
  {
    MutexLock lock(mutex_);
    if (!away_.ok()) {
      const auto now = steady_clock::now();
      if (now - asked_ < kAskAwayEvery) return away_;
      asked_ = now;
      once = true;
    }
  }
  const auto until = steady_clock::now() + request.patience;
  bool read_again = false;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLastPause)) {
    absl::StatusOr<Answer> answer = SendOnce(request);
    absl::Status failure = answer.status();
    if (answer.ok()) {
      const bool refused = answer->status == 400 || answer->status == 401 || answer->status == 403;
      // The file may have new ones in the meantime.
      if (refused && !std::exchange(read_again, true)) {
        if (const auto differ = ReadCredentials(); differ.ok() && *differ) continue;
      }
      if (IsPassing(answer->status, answer->body)) failure = Refusal(*answer);
    }
    if (failure.ok()) {
      MutexLock lock(mutex_);
      away_ = absl::OkStatus();
      return answer;
    }
    if (once || steady_clock::now() + pause >= until || !Sleep(pause)) {
      MutexLock lock(mutex_);
      away_ = failure;
      asked_ = steady_clock::now();
      return failure;
    }
    spdlog::info("artifacts: {}; it is tried again", MessageOf(failure));
  }
}

bool Bucket::Sleep(milliseconds pause) {
  thread_local std::minstd_rand random{std::random_device{}()};  // so that not all ask at the same time
  const auto until = steady_clock::now() + pause / 2 + milliseconds(random() % (pause.count() / 2 + 1));
  MutexLock lock(mutex_);
  while (!ends_ && ending_.WaitUntil(mutex_, until)) {
  }
  return !ends_;
}

void Bucket::EndWaits() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
  }
  ending_.NotifyAll();
}

absl::Status Bucket::Put(const std::string& key, std::string_view bytes, const std::string& sha256) {
  Request request = To("PUT", UrlOf(key));
  request.body = bytes;
  request.sha256 = sha256;
  const absl::StatusOr<Answer> answer = Send(request);
  if (!answer.ok()) return answer.status();
  return answer->status == 200 ? absl::OkStatus() : Refusal(*answer);
}

absl::Status Bucket::Get(const std::string& key, int64_t most, BlobBuffer& into) {
  Request request = To("GET", UrlOf(key));
  request.most = std::min(most, BlobBuffer::kMost);
  request.into = &into;
  const absl::StatusOr<Answer> answer = Send(request);
  if (!answer.ok()) return answer.status();
  if (answer->status == 404 && S3ErrorCode(answer->body) != "NoSuchBucket")
    return absl::NotFoundError(fmt::format("{}: there is no object {}", name(), key));
  return answer->status == kOk ? absl::OkStatus() : Refusal(*answer);
}

absl::Status Bucket::Delete(const std::string& key) {
  const absl::StatusOr<Answer> answer = Send(To("DELETE", UrlOf(key)));
  if (!answer.ok()) return answer.status();
  const bool gone = answer->status == 404 && S3ErrorCode(answer->body) != "NoSuchBucket";
  return answer->status == 204 || answer->status == 200 || gone ? absl::OkStatus() : Refusal(*answer);
}

absl::Status Bucket::Probe(const std::string& key) {
  std::random_device random;
  const std::string text = fmt::format("{:08x}{:08x}", random(), random());
  Request request = To("PUT", UrlOf(key));
  request.body = text;
  request.sha256 = DigestOf(text);
  request.patience = kProbePatience;
  const absl::StatusOr<Answer> put = Send(request);
  if (!put.ok()) return put.status();
  if (put->status != kOk) return Refusal(*put);
  BlobBuffer read;
  if (absl::Status got = Get(key, kMostErrorBytes, read); !got.ok() && !absl::IsNotFound(got)) return got;
  if (read.bytes() != text) {
    return Wrong(
        fmt::format("object {} is not as it was written; expected the URL of an S3-compatible service in "
                    "--s3-endpoint",
                    key));
  }
  return Delete(key);
}

absl::Status Bucket::List(const std::string& prefix,
                          const std::function<void(const std::string& key, int64_t size)>& found) {
  std::string token;
  do {
    // Sorted by name, as the signature requires.
    std::string query = "encoding-type=url&list-type=2&prefix=" + AwsEncoded(prefix, false);
    if (!token.empty()) query = "continuation-token=" + AwsEncoded(token, false) + "&" + query;
    Request request = To("GET", UrlOf("") + "?" + query);
    request.most = kMostListingBytes;
    const absl::StatusOr<Answer> answer = Send(request);
    if (!answer.ok()) return answer.status();
    if (answer->status != 200) return Refusal(*answer);
    const absl::StatusOr<ListedObjects> page = ParseListing(answer->body);
    if (!page.ok()) return Away(MessageOf(page.status()));
    if (!page->next.empty() && page->next == token) return Away("the service lists the same page again");
    token = page->next;
    for (const ListedObjects::Object& object : page->objects) {
      if (object.key.starts_with(prefix)) found(object.key, object.size);
    }
  } while (!token.empty());
  return absl::OkStatus();
}

}  // namespace winnow
