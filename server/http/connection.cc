#include "server/http/connection.h"

#include <netinet/tcp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <string>
#include <utility>

#include "server/http/encoding.h"
#include "server/http/message.h"

namespace winnow {
namespace {

// A connection's bytes, with TLS or without: an AsyncStream of Boost.Beast, so that its users are compiled
// once.
class Stream {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  // `context` null: without TLS.
  Stream(boost::asio::ip::tcp::socket socket, std::shared_ptr<boost::asio::ssl::context> context)
      : tcp_(std::move(socket)), context_(std::move(context)) {
    if (context_ != nullptr) tls_.emplace(tcp_, *context_);
  }

  executor_type get_executor() { return tcp_.get_executor(); }
  // Its timeout applies to the stream: a pending operation then fails, and the socket is closed.
  boost::beast::tcp_stream& tcp() { return tcp_; }
  bool has_tls() const { return tls_.has_value(); }
  boost::asio::ssl::stream<boost::beast::tcp_stream&>& tls() { return *tls_; }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Token>(token));
    return tcp_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Token>(token));
    return tcp_.async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  boost::beast::tcp_stream tcp_;
  std::shared_ptr<boost::asio::ssl::context> context_;  // outlives what was made from it
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> tls_;
};

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using net::ip::tcp;
using std::chrono::steady_clock;
using Parser = http::request_parser<http::string_body>;

// Bodies of all connections together; beyond this a request is refused.
constexpr size_t kMostBodyBytes = 256u << 20;
// An answer no longer than this is sent, however many others are being sent.
constexpr size_t kShortAnswer = 16 << 10;
constexpr size_t kReadBytes = 16 << 10;
constexpr size_t kWriteBytes = 256 << 10;
constexpr size_t kSourceBytes = 1 << 20;
// Interval of checks, during a call, whether the client is still connected.
constexpr std::chrono::seconds kLookEvery{1};
// A refused client may still be sending: unless some of it is read, the client's system discards the answer.
constexpr std::chrono::seconds kDrainPatience{2};
constexpr size_t kDrainBytes = 16u << 20;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<net::ssl::context> tls, Shared& shared)
      : shared_(shared),
        peer_(PeerText(socket)),
        stream_(std::move(socket), std::move(tls)),
        wake_(stream_.get_executor()) {}

  void Start() {
    place_ = shared_.connections.Add([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->CloseSoon();
    });
    net::co_spawn(
        stream_.get_executor(), [self = shared_from_this()] { return self->Run(); }, net::detached);
  }

 private:
  static std::string PeerText(const tcp::socket& socket) {
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    const std::string host = peer.address().to_string();
    const std::string port = std::to_string(peer.port());
    return peer.address().is_v6() ? "ipv6:[" + host + "]:" + port : "ipv4:" + host + ":" + port;
  }

  void CloseSoon() {
    net::post(stream_.get_executor(), [self = shared_from_this()] {
      self->closed_ = true;
      self->stream_.tcp().close();
      self->Wake();
    });
  }

  // REQUIRES: on the strand.
  void Wake() {
    woken_ = true;
    wake_.cancel();
  }

  net::awaitable<void> Run() {
    try {
      if (co_await Handshake()) {
        while (co_await ServeOne()) {
        }
      }
    } catch (const std::exception& exception) {
      spdlog::warn("HTTP: a connection of {} ends: {}", peer_, exception.what());
    }
    stream_.tcp().close();
    place_ = nullptr;
  }

  net::awaitable<bool> Handshake() {
    if (!stream_.has_tls()) co_return true;
    error_code error;
    stream_.tcp().expires_after(shared_.limits.handshake);
    co_await stream_.tls().async_handshake(net::ssl::stream_base::server,
                                           net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  // Returns whether another request may follow.
  net::awaitable<bool> ServeOne() {
    place_->Waits(true);
    error_code error;
    if (buffer_.size() == 0) {
      buffer_ = {};  // an idle connection holds little memory
      stream_.tcp().expires_after(shared_.limits.idle);
      constexpr size_t kFirst = 512;
      const size_t bytes = co_await stream_.async_read_some(buffer_.prepare(kFirst),
                                                            net::redirect_error(net::use_awaitable, error));
      if (error) co_return false;
      buffer_.commit(bytes);
    }
    Parser parser;
    parser.header_limit(static_cast<std::uint32_t>(shared_.limits.header_bytes));
    parser.body_limit(shared_.limits.body_bytes);
    stream_.tcp().expires_after(shared_.limits.read_header);
    co_await http::async_read_header(stream_, buffer_, parser,
                                     net::redirect_error(net::use_awaitable, error));
    place_->Waits(false);
    if (error) co_return co_await Refuse(error);
    if (parser.get().version() == 11 && parser.get().count(http::field::host) != 1) {
      co_return co_await Refuse(400, "expected one header Host");
    }
    if (!FramesPlainly(parser)) {
      co_return co_await Refuse(400, "Transfer-Encoding: expected chunked, in HTTP/1.1, or no such header");
    }
    size_t body = parser.chunked() ? shared_.limits.body_bytes : parser.content_length().value_or(0);
    // Limits what is read for callers without permission.
    const auto free = shared_.app.FreeBodyOf({parser.get().target().data(), parser.get().target().size()});
    if (body > free.bytes && free.only) {
      if (!parser.chunked()) co_return co_await Refuse(error_code(http::error::body_limit));
      parser.body_limit(free.bytes);
      body = free.bytes;
    }
    const Room room(shared_.body_bytes, body, kMostBodyBytes, 0);
    if (!room.fits()) co_return co_await Refuse(503, "too many large requests at a time; try again");
    if (body > free.bytes) {
      const std::shared_ptr<Exchange> admission = shared_.app.Admit(TakeRequest(parser));
      std::optional<HttpAnswer> answer = co_await AnswerOf(*admission);
      if (!answer) co_return false;
      if (answer->status != 200) co_return co_await Send(*std::move(answer), {});
    }
    if (!parser.is_done()) {
      if (!co_await ReadBody(parser, error)) co_return co_await Refuse(error);
    }
    stream_.tcp().expires_never();
    const bool keep = co_await Answer(TakeRequest(parser), parser.get().version(), parser.keep_alive());
    co_return keep && !closed_;
  }

  net::awaitable<bool> ReadBody(Parser& parser, error_code& error) {
    stream_.tcp().expires_after(shared_.limits.read_body);
    if (http::token_list(parser.get()[http::field::expect]).exists("100-continue")) {
      co_await Write("HTTP/1.1 100 Continue\r\n\r\n", {}, error);
      if (error) co_return false;
      stream_.tcp().expires_after(shared_.limits.read_body);
    }
    buffer_.reserve(kReadBytes);
    co_await http::async_read(stream_, buffer_, parser, net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  // Whether the end of the body is beyond doubt. Boost takes what it does not know for no body, and so what
  // follows for the next request; a proxy in front may take it for the body.
  static bool FramesPlainly(const Parser& parser) {
    const auto& message = parser.get();
    const size_t count = message.count(http::field::transfer_encoding);
    if (count == 0) return true;
    return count == 1 && message.version() == 11 &&
           beast::iequals(message[http::field::transfer_encoding], "chunked");
  }

  HttpRequest TakeRequest(Parser& parser) const {
    HttpRequest request;
    auto& message = parser.get();
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      std::string& value = request.headers[name];
      if (!value.empty()) value += ", ";
      value += std::string(field.value());
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    return request;
  }

  void Begin(Exchange& exchange) {
    exchange.Start([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self) net::post(self->stream_.get_executor(), [self] { self->Wake(); });
    });
  }

  // For an exchange without a stream; absent if the client has disconnected.
  net::awaitable<std::optional<HttpAnswer>> AnswerOf(Exchange& exchange) {
    const CancelAtEnd cancel{exchange};
    stream_.tcp().expires_never();
    Begin(exchange);
    while (!closed_) {
      Exchange::Step step = exchange.Next();
      if (step.kind == Exchange::Step::Kind::kAnswer) co_return std::move(step.answer);
      if (!co_await Wait()) break;
    }
    co_return std::nullopt;
  }

  // Returns whether another request may follow.
  net::awaitable<bool> Answer(HttpRequest request, unsigned version, bool keep_alive) {
    const Form form = {.head_only = request.method == "HEAD",
                       .keep_alive = keep_alive,
                       .gzip = request.method == "GET" && AcceptsGzip(request.header("accept-encoding"))};
    RequestHandler::Way way = shared_.app.Handle(std::move(request));
    if (auto* answer = std::get_if<HttpAnswer>(&way)) co_return co_await Send(std::move(*answer), form);
    const std::shared_ptr<Exchange> exchange = std::get<std::shared_ptr<Exchange>>(way);
    const CancelAtEnd cancel{*exchange};
    Begin(*exchange);
    while (!closed_) {
      Exchange::Step step = exchange->Next();
      if (step.kind == Exchange::Step::Kind::kAnswer) co_return co_await Send(std::move(step.answer), form);
      if (step.kind != Exchange::Step::Kind::kWait) {
        co_return co_await SendStream(*exchange, std::move(step), version == 11) && keep_alive;
      }
      if (!co_await Wait()) co_return false;
    }
    co_return false;
  }

  // Waits for a change, at most a moment. False if the client has disconnected.
  net::awaitable<bool> Wait() {
    if (!woken_) {
      error_code error;
      wake_.expires_after(kLookEvery);
      co_await wake_.async_wait(net::redirect_error(net::use_awaitable, error));
    }
    woken_ = false;
    co_return !closed_ && !ClientHasGone();
  }

  // Peeks without reading, because the next request may have arrived.
  bool ClientHasGone() {
    tcp_info info = {};
    socklen_t size = sizeof info;
    const int socket = stream_.tcp().socket().native_handle();
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state != TCP_ESTABLISHED;
  }

  net::awaitable<bool> SendStream(Exchange& exchange, Exchange::Step step, bool chunked) {
    const StreamPlace place(shared_.streams);
    if (place.number() > shared_.limits.streams) {
      co_return co_await Refuse(503, "too many streams of events at a time; try again");
    }
    error_code error;
    co_await Write(StreamHead(chunked, stream_.has_tls()), {}, error);
    const auto frame = [chunked](const std::string& bytes) { return chunked ? Chunk(bytes) : bytes; };
    auto sent = steady_clock::now();
    while (!error && !closed_) {
      std::string part = std::move(step.part);
      if (step.kind == Exchange::Step::Kind::kEnd) {
        if (chunked) co_await Write(Chunk(""), {}, error);
        co_return !error && chunked;
      }
      if (step.kind == Exchange::Step::Kind::kWait) {
        if (!co_await Wait()) co_return false;
        if (steady_clock::now() - sent >= shared_.limits.heartbeat) part = ": still here\n\n";
      }
      if (!part.empty()) {
        co_await Write(frame(part), {}, error);
        sent = steady_clock::now();
      }
      step = exchange.Next();
    }
    co_return false;
  }

  // The form in which an answer is written.
  struct Form {
    bool head_only = false;
    bool keep_alive = false;
    bool gzip = false;  // where that reduces the size
  };
  net::awaitable<bool> Send(HttpAnswer answer, Form form) {
    if (form.gzip && answer.source == nullptr) Compress(answer);
    // It stays in memory until its reader, who may be slow, has it.
    const Room room(shared_.answer_bytes, answer.body.size(), shared_.limits.answer_bytes, kShortAnswer);
    if (!room.fits()) answer = shared_.app.Refusal(503, "too many large answers at a time; try again");
    error_code error;
    const bool no_content = form.head_only || answer.source != nullptr;
    co_await Write(AnswerHead(answer, form.keep_alive, stream_.has_tls()),
                   no_content ? std::string_view() : answer.content(), error);
    if (answer.source != nullptr && !form.head_only && !co_await SendSource(*answer.source, error))
      co_return false;
    if (!error && !form.keep_alive) co_await Part();
    co_return !error && form.keep_alive;
  }

  // Returns whether all was sent; otherwise the length that was announced is wrong, and the connection ends.
  net::awaitable<bool> SendSource(BodySource& source, error_code& error) {
    for (int64_t left = source.size(); left > 0 && !error;) {
      const std::string piece = source.Next(static_cast<size_t>(std::min<int64_t>(left, kSourceBytes)));
      if (piece.empty()) co_return false;
      left -= static_cast<int64_t>(piece.size());
      co_await Write({}, piece, error);
    }
    co_return !error;
  }

  // Each piece has its own timeout: a slow reader of a large answer is not stalled.
  net::awaitable<void> Write(std::string_view head, std::string_view body, error_code& error) {
    do {
      const std::string_view piece = body.substr(0, kWriteBytes);
      body.remove_prefix(piece.size());
      const std::array<net::const_buffer, 2> buffers = {net::buffer(head), net::buffer(piece)};
      stream_.tcp().expires_after(shared_.limits.write);
      co_await net::async_write(stream_, buffers, net::redirect_error(net::use_awaitable, error));
      head = {};
    } while (!error && !body.empty());
    stream_.tcp().expires_never();
  }

  // Closes the sending side, and reads on for a while.
  net::awaitable<void> Part() {
    error_code error;
    stream_.tcp().expires_after(kDrainPatience);
    if (stream_.has_tls()) {
      co_await stream_.tls().async_shutdown(net::redirect_error(net::use_awaitable, error));
      co_return;
    }
    stream_.tcp().socket().shutdown(tcp::socket::shutdown_send, error);
    std::string scratch(kReadBytes, '\0');
    for (size_t bytes = 0; !error && bytes < kDrainBytes;) {
      bytes += co_await stream_.async_read_some(net::buffer(scratch),
                                                net::redirect_error(net::use_awaitable, error));
    }
  }

  net::awaitable<bool> Refuse(int status, const char* why) {
    co_return co_await Send(shared_.app.Refusal(status, why), {});
  }

  // Answers a malformed request with an error if the client is still connected.
  net::awaitable<bool> Refuse(error_code why) {
    if (why == http::error::header_limit)
      co_return co_await Refuse(431, "the request's headers are too long");
    if (why == http::error::body_limit) co_return co_await Refuse(413, "the request's body is too long");
    if (why == http::error::end_of_stream || why == http::error::partial_message ||
        why.category() != make_error_code(http::error::bad_method).category()) {
      co_return false;
    }
    co_return co_await Refuse(400, "this is not an HTTP/1.1 request");
  }

  struct CancelAtEnd {
    Exchange& exchange;
    ~CancelAtEnd() { exchange.Cancel(); }
  };
  // A share of the memory of all connections, of which there is no more than `most`. What has no more than
  // `least` bytes always fits, and so does what is there alone. What does not fit holds nothing.
  class Room {
   public:
    Room(std::atomic<size_t>& all, size_t bytes, size_t most, size_t least) : all_(all), bytes_(bytes) {
      const size_t others = all_.fetch_add(bytes_);
      fits_ = others == 0 || bytes_ <= least || others + bytes_ <= most;
      if (!fits_) all_ -= std::exchange(bytes_, 0);
    }
    ~Room() { all_ -= bytes_; }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    bool fits() const { return fits_; }

   private:
    std::atomic<size_t>& all_;
    size_t bytes_;
    bool fits_;
  };
  class StreamPlace {
   public:
    explicit StreamPlace(std::atomic<size_t>& all) : all_(all), number_(++all) {}
    ~StreamPlace() { --all_; }
    StreamPlace(const StreamPlace&) = delete;
    StreamPlace& operator=(const StreamPlace&) = delete;
    size_t number() const { return number_; }

   private:
    std::atomic<size_t>& all_;
    const size_t number_;
  };

  Shared& shared_;
  const std::string peer_;
  std::unique_ptr<Connections::Place> place_;
  // All that follows belongs to the strand.
  Stream stream_;
  beast::flat_buffer buffer_;
  net::steady_timer wake_;
  bool woken_ = false;
  bool closed_ = false;
};

}  // namespace

void ServeConnection(tcp::socket socket, std::shared_ptr<net::ssl::context> tls, Shared& shared) {
  std::make_shared<Connection>(std::move(socket), std::move(tls), shared)->Start();
}

}  // namespace winnow
