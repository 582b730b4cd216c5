// A request of a client of AWS, in text: "SERVICE METHOD TARGET", headers, an empty line and a body. Whatever
// it is, it is refused with an error or read as one of its protocol, and what is written of it is read again
// as the same.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "artifact/manifest.h"
#include "server/sagemaker/jobs/request_shape.h"
#include "server/sagemaker/jobs/script_code.h"
#include "server/sagemaker/s3/payload.h"
#include "server/sagemaker/wire/aws_call.h"
#include "server/sagemaker/wire/aws_error.h"
#include "server/sagemaker/wire/aws_request.h"
#include "server/sagemaker/wire/signature.h"
#include "server/sagemaker/wire/xml.h"
#include "tests/fuzz/fuzz.h"

namespace winnow {
namespace {

using nlohmann::json;

HttpRequest ReadRequest(std::string_view text, std::string& service) {
  HttpRequest request;
  const auto line = [&text] {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view taken = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
  };
  const std::vector<std::string> words = SplitAt(line(), ' ');
  service = words[0];
  request.method = words.size() > 1 ? words[1] : "POST";
  request.target = words.size() > 2 ? words[2] : "/";
  while (!text.empty()) {
    const std::string_view header = line();
    if (header.empty()) break;
    const size_t colon = std::min(header.find(':'), header.size());
    request.headers[Lowered(header.substr(0, colon))] =
        WithoutBlanks(header.substr(std::min(colon + 1, header.size())));
  }
  request.body = text;
  return request;
}

void LookAtCall(const HttpRequest& request, const std::string& service) {
  const absl::StatusOr<AwsCall> call = ReadAwsCall(request, service);
  if (!call.ok()) {
    fuzz::Require(!AwsCodeOf(call.status()).empty(), "an error has a code");
    fuzz::Require(WriteAwsAnswer(request, service, "", call.status(), "id").status == 400,
                  "it is the caller's");
    return;
  }
  fuzz::Require(call->body.is_object(), "a body is an object");
  if (HasRequestShape(call->operation)) (void)CheckRequestShape(call->operation, call->body);
  if (call->protocol == AwsProtocol::kQuery) return;
  json body = call->body;
  for (const char* time : {"Timestamp", "Timestamps", "CreateDate"}) body.erase(time);
  const HttpAnswer answer = WriteAwsAnswer(request, service, call->operation, body, "id");
  if (call->protocol == AwsProtocol::kJson) {
    const json again = json::parse(answer.body, nullptr, false);
    fuzz::Require(again.is_object() && again.size() == body.size(), "JSON is read again");
  } else {
    fuzz::Require(json::from_cbor(answer.body, true, false, json::cbor_tag_handler_t::ignore).is_object(),
                  "CBOR is read again");
  }
}

}  // namespace
}  // namespace winnow

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  std::string service;
  const HttpRequest request = ReadRequest({reinterpret_cast<const char*>(data), size}, service);
  constexpr int64_t kNow = 1'700'000'000;
  const SecretOf secret_of = [](std::string_view) { return std::optional<std::string>("secret"); };
  for (const SignedPart part : {SignedPart::kHead, SignedPart::kAll}) {
    const absl::StatusOr<Signer> signer = CheckSignature(request, secret_of, kNow, part);
    if (!signer.ok())
      fuzz::Require(HttpStatusOfAwsCode(AwsCodeOf(signer.status())) < 500, "it is the caller's");
  }
  LookAtCall(request, service);
  const absl::StatusOr<Payload> payload = TakePayload(request);
  if (payload.ok()) fuzz::Require(payload->bytes().size() <= request.body.size(), "a payload is of the body");
  (void)ParseXml(request.body);
  const absl::StatusOr<ScriptCode> code = UnpackScriptCode(request.body);
  if (code.ok()) fuzz::Require(CheckManifest(code->source.manifest()).ok(), "code has a good manifest");
  return 0;
}
