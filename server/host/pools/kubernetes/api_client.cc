#include "server/host/pools/kubernetes/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/status_text.h"
#include "server/host/pools/kubernetes/fields.h"

namespace winnow {
namespace {

using Json = nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLongestPause{60'000};
constexpr int kItemsPerPage = 500;
constexpr int kMostPages = 10'000;

// What Retry-After says; nothing if it is absent or not a number of seconds.
std::optional<milliseconds> AskedPause(const ApiResponse& response) {
  const auto found = response.headers.find("retry-after");
  if (found == response.headers.end()) return std::nullopt;
  const std::string& text = found->second;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::min<milliseconds>(std::chrono::seconds(std::min<int64_t>(seconds, 3600)), kLongestPause);
}

bool MayBeRepeated(const ApiResponse& response) {
  return response.status == 429 || (response.status >= 500 && response.headers.contains("retry-after"));
}

std::string JoinQuery(const std::string& collection, const std::string& query, const std::string& more) {
  return fmt::format("{}?{}{}{}", collection, query, query.empty() ? "" : "&", more);
}

}  // namespace

std::string QueryValue(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

// A connection for one request, which goes back to the others at its end.
class ApiClient::Loan {
 public:
  explicit Loan(ApiClient& client) : client_(client) {
    MutexLock lock(client_.mutex_);
    ++client_.calls_;
    if (!client_.idle_.empty()) {
      connection_ = std::move(client_.idle_.back());
      client_.idle_.pop_back();
    } else if (auto made = ApiConnection::Make(); made.ok()) {
      connection_ = *std::move(made);
    } else {
      status_ = made.status();
      return;
    }
    client_.busy_.insert(connection_.get());
    if (client_.stopped_) connection_->Stop();
  }
  ~Loan() {
    if (connection_ == nullptr) return;
    MutexLock lock(client_.mutex_);
    client_.busy_.erase(connection_.get());
    client_.idle_.push_back(std::move(connection_));
  }
  const absl::Status& status() const { return status_; }
  ApiConnection* operator->() { return connection_.get(); }

 private:
  ApiClient& client_;
  std::unique_ptr<ApiConnection> connection_;
  absl::Status status_;
};

ApiClient::ApiClient(KubernetesAccessSource source, ApiTimes times)
    : source_(std::move(source)), times_(times) {}

absl::StatusOr<KubernetesAccess> ApiClient::Access(bool read_again) {
  {
    MutexLock lock(mutex_);
    const bool fresh =
        access_read_ != steady_clock::time_point() && steady_clock::now() - access_read_ < times_.access_age;
    if (fresh && !read_again) return access_;
  }
  absl::StatusOr<KubernetesAccess> access = ReadKubernetesAccess(source_);
  if (!access.ok()) return access;
  MutexLock lock(mutex_);
  access_ = *access;
  access_read_ = steady_clock::now();
  return access;
}

absl::StatusOr<std::string> ApiClient::NameSpace() {
  const absl::StatusOr<KubernetesAccess> access = Access(false);
  if (!access.ok()) return access.status();
  return access->name_space;
}

bool ApiClient::Sleep(milliseconds time) {
  const auto end = steady_clock::now() + time;
  MutexLock lock(mutex_);
  while (!stopped_ && steady_clock::now() < end) changed_.WaitUntil(mutex_, end);
  return !stopped_;
}

void ApiClient::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  for (ApiConnection* connection : busy_) connection->Stop();
  changed_.NotifyAll();
}

int64_t ApiClient::calls() const {
  MutexLock lock(mutex_);
  return calls_;
}

absl::StatusOr<ApiResponse> ApiClient::SendOnce(const ApiRequest& request, const BodyReceiver& receiver) {
  for (const bool again : {false, true}) {
    const absl::StatusOr<KubernetesAccess> access = Access(again);
    if (!access.ok()) return access.status();
    Loan connection(*this);
    if (!connection.status().ok()) return connection.status();
    absl::StatusOr<ApiResponse> response = connection->Send(*access, request, receiver);
    if (again || !response.ok() || response->status != 401) return response;
  }
  return absl::InternalError("not reached");
}

absl::StatusOr<Json> ApiClient::Call(const std::string& method, const std::string& target,
                                     const Json* object) {
  ApiRequest request;
  request.method = method;
  request.target = target;
  if (object != nullptr) request.body = object->dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto end = steady_clock::now() + times_.answer;
  milliseconds pause = times_.first_pause;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    request.longest = request.silent = std::max(left, milliseconds(1));
    const absl::StatusOr<ApiResponse> response = SendOnce(request, nullptr);
    if (!response.ok()) return response.status();
    Json body = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
    if (response->status >= 200 && response->status < 300) {
      if (body.is_object()) return body;
      return absl::UnavailableError("the API server's answer is no JSON object");
    }
    absl::Status error = ApiError(response->status, body, response->body);
    if (!MayBeRepeated(*response)) return error;
    const milliseconds wait = AskedPause(*response).value_or(pause);
    if (steady_clock::now() + wait >= end) return error;
    if (!Sleep(wait)) return absl::CancelledError("stopped");
    pause = std::min(pause * 2, kLongestPause);
  }
}

absl::StatusOr<Json> ApiClient::Get(const std::string& path) { return Call("GET", path, nullptr); }

absl::StatusOr<Json> ApiClient::Create(const std::string& collection, const Json& object) {
  return Call("POST", collection, &object);
}

absl::StatusOr<Json> ApiClient::Replace(const std::string& path, const Json& object) {
  return Call("PUT", path, &object);
}

absl::Status ApiClient::Delete(const std::string& path, const Json& options) {
  const absl::Status status = Call("DELETE", path, &options).status();
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::StatusOr<ApiList> ApiClient::List(const std::string& collection, const std::string& query) {
  // Where the pages of a list are no longer to be had, the whole list is.
  for (const bool whole : {false, true}) {
    ApiList list;
    std::string next;
    absl::Status status;
    for (int page = 0; page < kMostPages; ++page) {
      std::string more = whole ? "" : fmt::format("limit={}", kItemsPerPage);
      if (!next.empty()) more += "&continue=" + QueryValue(next);
      absl::StatusOr<Json> answer = Get(JoinQuery(collection, query, more));
      status = answer.status();
      if (!status.ok()) break;
      list.version = TextAt(*answer, "metadata", "resourceVersion");
      next = TextAt(*answer, "metadata", "continue");
      const Json& items = FieldAt(*answer, "items");
      if (items.is_array()) list.items.insert(list.items.end(), items.begin(), items.end());
      if (next.empty()) break;
    }
    if (status.ok()) return list;
    if (whole || !absl::IsOutOfRange(status)) return status;
  }
  return absl::InternalError("not reached");
}

absl::Status ApiClient::Watch(const std::string& collection, const std::string& query,
                              const std::string& version, const std::function<void()>& opened,
                              const EventStream::Receiver& receiver) {
  ApiRequest request;
  request.target = JoinQuery(
      collection, query,
      fmt::format("watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                  std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(times_.watch).count()),
                  QueryValue(version)));
  request.longest = times_.watch + times_.answer;
  request.silent = times_.watch_silent;
  EventStream stream;
  bool open = false;
  const absl::StatusOr<ApiResponse> response = SendOnce(request, [&](std::string_view bytes) {
    if (!open) opened();
    open = true;
    return stream.Take(bytes, receiver);
  });
  if (!response.ok()) return response.status();
  if (response->status == 200) return absl::OkStatus();
  const Json body = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  const absl::Status error = ApiError(response->status, body, response->body);
  if (MayBeRepeated(*response))
    Sleep(std::min(AskedPause(*response).value_or(milliseconds(0)), times_.answer));
  return error;
}

}  // namespace winnow
