#include "server/webhooks/mail.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/status_text.h"
#include "base/utf8.h"
#include "server/host/pools/program.h"

namespace winnow {
namespace {

constexpr size_t kLongestSubject = 200;  // bytes
// The most bytes of an encoded word: with the header's name, or a further line's space, 76 characters a line.
constexpr size_t kBytesOfFirstWord = 39, kBytesOfWord = 45;
constexpr size_t kBytesOfBodyLine = 57;  // 76 characters of base64

// Without line breaks and other control characters.
std::string MailLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return text;
}

// The text of a header: encoded words of RFC 2047 unless it is plain.
std::string HeaderText(const std::string& text) {
  const std::string line(Utf8Prefix(MailLine(text), kLongestSubject));
  const bool plain = std::all_of(line.begin(), line.end(), [](char c) { return (c & 0x80) == 0; }) &&
                     line.find("=?") == std::string::npos;
  if (plain) return line;
  std::string words;
  for (std::string_view rest = line; !rest.empty();) {
    const std::string_view part = Utf8Prefix(rest, words.empty() ? kBytesOfFirstWord : kBytesOfWord);
    words +=
        fmt::format("{}=?UTF-8?B?{}?=", words.empty() ? "" : "\n ", absl::Base64Escape(std::string(part)));
    rest.remove_prefix(part.size());
  }
  return words;
}

std::string SubjectOf(const v1::Event& event) {
  switch (event.kind()) {
    case v1::Event::BEST_IMPROVED:
      return fmt::format("{}: best {} is {:g}", event.job_id(), event.metric(), event.value());
    case v1::Event::JOB_ENDED:
      return fmt::format("{} is {}", event.job_id(), event.state());
    case v1::Event::JOB_FAILING_EARLY:
      return fmt::format("{} fails early", event.job_id());
    case v1::Event::WORKER_QUARANTINED:
      return fmt::format("worker {} is quarantined", event.worker());
    case v1::Event::POOL_BROKEN:
      return fmt::format("pool {} is broken", event.pool());
    case v1::Event::QUOTA_NEAR:
      return fmt::format("the quota of {} is nearly used up",
                         event.person().empty() ? "project " + event.project()
                                                : event.person() + " in project " + event.project());
    case v1::Event::TEST:
      return "a test";
    default: {
      std::string words = v1::Event::Kind_Name(event.kind());
      std::transform(words.begin(), words.end(), words.begin(),
                     [](char c) { return c == '_' ? ' ' : static_cast<char>(c | 0x20); });
      return event.job_id().empty() ? words : event.job_id() + ": " + words;
    }
  }
}

std::string BodyOf(const v1::Event& event, int64_t delivery) {
  std::string body = MailLine(event.text()) + "\n\n";
  const auto add = [&body](const char* name, const std::string& value) {
    if (!value.empty()) body += fmt::format("{:8}{}\n", name, MailLine(value));
  };
  add("job", event.job_id());
  add("owner", event.owner());
  add("state", event.state());
  if (event.trial() > 0) add("trial", std::to_string(event.trial()));
  if (event.has_value()) add("best", fmt::format("{} = {:g}", event.metric(), event.value()));
  add("worker", event.worker());
  add("pool", event.pool());
  add("time", google::protobuf::util::TimeUtil::ToString(event.time()));
  add("event", fmt::format("{}, delivery {}", v1::Event::Kind_Name(event.kind()), delivery));
  return body;
}

}  // namespace

std::string MailText(const DeclaredMail& mail, const v1::Event& event, int64_t delivery, int64_t sent_s) {
  const auto host = mail.from.substr(mail.from.find('@') + 1);
  std::string text = fmt::format(
      "From: Winnow <{}>\nTo: {}\nSubject: {}\nDate: {:%a, %d %b %Y %H:%M:%S} +0000\n"
      // The same in each attempt, so that what comes twice is found.
      "Message-ID: <winnow-{}-{}@{}>\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n",
      mail.from, fmt::join(mail.to, ",\n "), HeaderText("[winnow] " + SubjectOf(event)),
      fmt::gmtime(static_cast<std::time_t>(sent_s)), delivery,
      google::protobuf::util::TimeUtil::TimestampToMicroseconds(event.time()), host);
  const std::string body = BodyOf(event, delivery);
  for (size_t at = 0; at < body.size(); at += kBytesOfBodyLine)
    text += absl::Base64Escape(body.substr(at, kBytesOfBodyLine)) + "\n";
  return text;
}

WebhookAnswer SendMail(const DeclaredWebhook& webhook, const v1::Event& event, int64_t delivery,
                       int64_t sent_s, const std::atomic<bool>& stop) {
  const DeclaredMail& mail = *webhook.mail;
  std::vector<std::string> command = mail.sendmail;
  command.insert(command.end(), {"-i", "-f", mail.from, "--"});
  command.insert(command.end(), mail.to.begin(), mail.to.end());
  const absl::StatusOr<ProgramResult> result =
      RunProgram(command, MailText(mail, event, delivery, sent_s), webhook.timeout, {}, "", &stop);
  if (!result.ok()) return {false, MessageOf(result.status())};
  if (result->exit_code == 0) return {true, "exit code 0"};
  const std::string words = result->Words();
  const std::string code = fmt::format("exit code {}", result->exit_code);
  return {false, words == code ? code : code + ": " + words};
}

}  // namespace winnow
