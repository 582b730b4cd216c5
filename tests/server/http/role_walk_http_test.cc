// Every method that is called over HTTP, by every role and by nobody: as the rules of roles say.

#include <google/protobuf/util/json_util.h>

#include "server/grpc/roles.h"
#include "server/http/routes.h"
#include "tests/server/grpc/canaries.h"
#include "tests/server/http/http_play.h"

namespace winnow {
namespace {

std::string Filled(const HttpRoute& route) {
  std::string path;
  for (const HttpRoute::Segment& segment : route.segments) path += "/" + (segment.field ? "1" : segment.word);
  return path;
}

HttpReply Call(int port, const HttpRoute& route, const HttpClient::Headers& headers) {
  return AskOnce(port, route.verb, Filled(route), route.verb == "POST" ? "{}" : "", headers);
}

TEST_CASE("RoleWalk over HTTP: no method answers a role that it should not, nor anyone without a token",
          "[http]") {
  TokenHttpPlay play;
  const auto& routes = HttpRoutes::OfServer().all();
  CHECK(routes.size() >= 30);
  for (v1::Role role : {v1::VIEWER, v1::SUBMITTER, v1::WORKER, v1::ADMIN}) {
    const HttpClient::Headers bearer = Bearer(play.MakeToken(role).secret());
    for (const HttpRoute& route : routes) {
      const HttpReply reply = Call(play.port(), route, bearer);
      INFO(RoleName(role) << " asks " << route.verb << " " << route.path << ": " << reply.status << " "
                          << reply.body);
      CHECK((reply.status != 403) ==
            MayCall(role, route.method->service()->full_name(), route.method->name()));
      CHECK(reply.status != 401);
      CHECK(reply.status != 0);
    }
  }
  const HttpClient::Headers unknown = Bearer("wnw_00000000_" + std::string(43, 'A'));
  for (const HttpRoute& route : routes) {
    INFO(route.path);
    CHECK(Call(play.port(), route, {}).status == 401);
    CHECK(Call(play.port(), route, unknown).status == 401);
    CHECK(Call(play.port(), route, {{"Authorization", "Basic YTpi"}}).status == 401);
  }
}

TEST_CASE("RoleWalk over HTTP: no method shows anything that another submitter or the site owns", "[http]") {
  Canaries<TokenHttpPlay> play;
  size_t calls = 0;
  for (const v1::CreateTokenResponse& token : {play.ben, play.viewer}) {
    std::string all;
    for (const HttpRoute& route : HttpRoutes::OfServer().all()) {
      play.Requests(*route.method, [&](const google::protobuf::Message& request) {
        std::string path, text;
        std::unique_ptr<google::protobuf::Message> body(request.New());
        body->CopyFrom(request);
        for (const HttpRoute::Segment& segment : route.segments) {
          const bool job =
              segment.field && (segment.field->name() == "id" || segment.field->name() == "job_id");
          path += "/" + (job ? "job" : segment.field ? "1" : segment.word);
          if (segment.field) body->GetReflection()->ClearField(body.get(), segment.field);
        }
        REQUIRE(google::protobuf::util::MessageToJsonString(*body, &text).ok());
        const HttpReply reply =
            AskOnce(play.port(), route.verb, path, route.verb == "POST" ? text : "", Bearer(token.secret()));
        INFO(route.verb << " " << path << ": " << reply.status << " " << reply.body);
        CHECK(reply.body.find("canary") == std::string::npos);
        all += reply.body;
        ++calls;
      });
    }
    CHECK_THAT(all, Catch::Contains("API_KEY") && Catch::Contains("(hidden)"));
  }
  CHECK(calls > 60);
}

}  // namespace
}  // namespace winnow
