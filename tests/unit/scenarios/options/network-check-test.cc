/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is refused, or warned of, once the network is known: ends without a route, buffers too small
 * for their headroom, time-outs that must fire.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/common-options.h"
#include "scenarios/network/network-check.h"
#include "scenarios/startup/parse.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace scenario;
namespace fs = std::filesystem;

namespace
{

template <class T>
ParseResult<T>
Dry(ParseResult<T> (*parse)(int, const char* const*), std::vector<std::string> args)
{
    args.insert(args.begin(), {"program", "--dry-run"});
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return parse(static_cast<int>(argv.size()), argv.data());
}

/// All errors, a line each; "" if it is valid.
template <class T>
std::string
Errors(const ParseResult<T>& result)
{
    EXPECT_NE(result.scenario.has_value(), !result.errors.empty());
    std::string all;
    for (const auto& e : result.errors)
    {
        all += (all.empty() ? "" : "\n") + e.Text();
    }
    return all;
}

std::string
Traffic(const std::vector<std::string>& args)
{
    return Errors(Dry(ParseAs<TrafficScenario>, args));
}

std::string
Train(const std::vector<std::string>& args)
{
    return Errors(Dry(ParseAs<TrainingScenario>, args));
}

std::string
Perf(const std::vector<std::string>& args)
{
    return Errors(Dry(ParseAs<CollperfScenario>, args));
}

/// A graph file: hosts are single letters before s, switches from s on. "as bs st" are links.
class File
{
  public:
    explicit File(const std::string& text)
    {
        static int number = 0;
        m_path = (fs::temp_directory_path() /
                  ("network-check-" + std::to_string(::getpid()) + "-" + std::to_string(++number)))
                     .string();
        std::ofstream(m_path) << text;
    }

    ~File()
    {
        fs::remove(m_path);
    }

    const std::string& Path() const
    {
        return m_path;
    }

  private:
    std::string m_path;
};

std::string
Graph(const std::string& nodes, const std::vector<std::string>& links)
{
    std::string text = R"({"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": [)";
    for (size_t i = 0; i < nodes.size(); ++i)
    {
        text += std::string(i ? ", " : "") + "{\"name\": \"" + nodes[i] + "\", \"kind\": \"" +
                (nodes[i] < 's' ? "host" : "switch") + "\"}";
    }
    text += "], \"links\": [";
    for (size_t i = 0; i < links.size(); ++i)
    {
        text += std::string(i ? ", " : "") + "{\"from\": \"" + links[i][0] + "\", \"to\": \"" +
                links[i][1] + "\"}";
    }
    return text + "]}";
}

const char* const kNoPath =
    ": no path leads there through switches alone, and hosts do not forward";
const char* const kRails =
    "; NIC i of every server (its i-th link in the file) must reach NIC i of every other";

} // namespace

TEST(Reachability, HostsDoNotForward)
{
    const File chain(Graph("abc", {"ab", "bc"}));
    const std::string at = "--topology=" + chain.Path() + ": ";
    EXPECT_EQ(Traffic({"--topology=" + chain.Path(), "--pattern=permutation", "--offset=2"}),
              at + "host c cannot be reached from host a" + kNoPath);
    EXPECT_EQ(Train({"--topology=" + chain.Path()}),
              at + "host c cannot be reached from host a" + kNoPath + kRails);
    EXPECT_EQ(Perf({"--topology=" + chain.Path()}),
              at + "host c cannot be reached from host a" + kNoPath + kRails);

    const File hpcc("3 0 2\n\n0 1 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n");
    const File there("1\n0 2 3 100 1000 2\n");
    const File near("1\n0 1 3 100 1000 2\n");
    const std::string refused = Traffic({"--topology=" + hpcc.Path(), "--flows=" + there.Path()});
    EXPECT_EQ(refused.rfind("--topology=" + hpcc.Path() + ": host ", 0), 0u) << refused;
    EXPECT_NE(refused.find(" cannot be reached from host "), std::string::npos) << refused;
    EXPECT_EQ(refused.find('\n'), std::string::npos) << "one error";
    EXPECT_EQ(Traffic({"--topology=" + hpcc.Path(), "--flows=" + near.Path()}), "") << "neighbours";
}

TEST(Reachability, SwitchesThatAddUpJoinNobodyEither)
{
    // That no switch joins the servers is what follows from it, and not said.
    const File islands(Graph("abcdst", {"as", "bs", "ct", "dt"}));
    const File pair(Graph("abcs", {"as", "bs", "bc"})); // c hangs on a host
    for (const std::string& net : {islands.Path(), pair.Path()})
    {
        const std::string plain = Perf({"--topology=" + net});
        EXPECT_NE(plain.find("cannot be reached from host a"), std::string::npos) << plain;
        for (const std::string& asked :
             {std::string("--algorithm=sharp"), std::string("--compare=ring,sharp")})
        {
            EXPECT_EQ(Perf({"--topology=" + net, asked}), plain);
        }
    }
    EXPECT_EQ(Perf({"--topology=" + islands.Path(), "--ranks=2", "--algorithm=sharp"}), "");
    // A cable is no switch, with a switch at other NICs or without.
    const File cable(Graph("ab", {"ab"}));
    const File both(Graph("abs", {"as", "bs", "ab"}));
    for (std::vector<std::string> args :
         {std::vector<std::string>{"--topology=" + cable.Path()},
          std::vector<std::string>{"--topology=" + both.Path(), "--nics-per-server=2"}})
    {
        EXPECT_EQ(Perf(args), "");
        args.emplace_back("--algorithm=sharp");
        EXPECT_NE(Perf(args).find("no switch between the servers adds up"), std::string::npos)
            << Perf(args);
    }
    // Rails that nothing joins have a tree each.
    const File rails(Graph("abst", {"as", "at", "bs", "bt"}));
    EXPECT_EQ(Perf({"--nics-per-server=2", "--topology=" + rails.Path(), "--algorithm=sharp"}), "");
}

TEST(Reachability, OnlyWhatIsUsedCounts)
{
    const File islands(Graph("abcdst", {"as", "bs", "ct", "dt"}));
    const File within("2\n0 1 3 100 1000 2\n2 3 3 100 1000 2\n");
    const File across("2\n0 1 3 100 1000 2\n1 2 3 100 1000 2\n");
    EXPECT_EQ(Traffic({"--topology=" + islands.Path(), "--flows=" + within.Path()}), "");
    EXPECT_EQ(Traffic({"--topology=" + islands.Path(), "--flows=" + across.Path()}),
              "--topology=" + islands.Path() + ": host c cannot be reached from host b" + kNoPath);
    EXPECT_EQ(Train({"--topology=" + islands.Path(), "--servers=2"}), "") << "a and b";
    EXPECT_NE(Train({"--topology=" + islands.Path()}), "");

    const File direct(Graph("ab", {"ab"}));
    EXPECT_EQ(Train({"--topology=" + direct.Path()}), "");
    EXPECT_EQ(Traffic({"--topology=" + direct.Path()}), "");
}

TEST(Reachability, RailsByPort)
{
    const File straight(Graph("abst", {"as", "at", "bs", "bt"}));
    const File crossed(Graph("abst", {"as", "at", "bt", "bs"}));
    const File joined(Graph("abst", {"as", "at", "bt", "bs", "st"}));
    EXPECT_EQ(Train({"--nics-per-server=2", "--topology=" + straight.Path()}), "");
    EXPECT_EQ(Train({"--nics-per-server=2", "--topology=" + joined.Path()}), "");
    for (const auto& run : {Train, Perf})
    {
        EXPECT_EQ(run({"--nics-per-server=2", "--topology=" + crossed.Path()}),
                  "--topology=" + crossed.Path() +
                      ": port 0 of host b cannot be reached from port 0 of host a" + kNoPath +
                      kRails);
    }
}

// ------------------------------------------------------------------------------------ buffers

namespace
{

std::string
After(const std::string& text, const std::string& from, char until)
{
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << text;
    return at == std::string::npos
               ? ""
               : text.substr(at + from.size(),
                             text.find(until, at + from.size()) - at - from.size());
}

} // namespace

TEST(Buffer, MustHoldItsHeadroom)
{
    for (const auto& run : {Train, Perf, Traffic})
    {
        EXPECT_EQ(run({}), "");
        const std::string small = run({"--buffer=10kB"});
        EXPECT_EQ(small.rfind("--buffer=10kB: switch ", 0), 0u) << small;
        EXPECT_NE(small.find("too small for the headroom that --link-delay=1us and "
                             "--switch-latency=500ns ask for; allowed: --buffer="),
                  std::string::npos)
            << small;
        EXPECT_NE(small.find(" or more, a shorter --link-delay or --switch-latency, or --no-pfc"),
                  std::string::npos)
            << small;

        const std::string far = run({"--link-delay=100ms"});
        EXPECT_EQ(far.rfind("--link-delay=100ms: switch ", 0), 0u) << far;
        const std::string slow = run({"--switch-latency=1ms"});
        EXPECT_EQ(slow.rfind("--switch-latency=1ms: switch ", 0), 0u) << slow;
    }
}

TEST(Buffer, TheLeastThatIsNamedWouldDoAndIsTheLeast)
{
    for (const std::string delay : {"--link-delay=1us", "--link-delay=100us", "--link-delay=100ms"})
    {
        const std::string error = Traffic({"--topology=leaf-spine", "--buffer=10kB", delay});
        const std::string least = After(error, "allowed: --buffer=", ' ');
        const auto bytes = rdma::ParseBytes(least);
        ASSERT_TRUE(bytes) << error;
        EXPECT_EQ(Traffic({"--topology=leaf-spine", "--buffer=" + least, delay}), "");
        EXPECT_NE(Traffic({"--topology=leaf-spine",
                           "--buffer=" + std::to_string(bytes->value - 1001),
                           delay}),
                  "");
    }
}

TEST(Buffer, TheWayToAUnitIsBlamedIfItIsTheCause)
{
    // 1 ms of 100 Gb/s there and back are 25 MB of headroom.
    const std::vector<std::string> sharp = {"--algorithm=sharp", "--topology=leaf-spine"};
    const auto with = [&sharp](std::vector<std::string> more) {
        more.insert(more.end(), sharp.begin(), sharp.end());
        return Perf(more);
    };
    EXPECT_EQ(with({}), "");
    const std::string far = with({"--aggregation-delay=1ms", "--link-delay=2us"});
    EXPECT_EQ(far.rfind("--aggregation-delay=1ms: switch ", 0), 0u) << far;
    EXPECT_NE(far.find(" or more, a shorter --aggregation-delay, or --no-pfc"), std::string::npos)
        << far;
    const std::string least = After(far, "allowed: --buffer=", ' ');
    EXPECT_EQ(with({"--aggregation-delay=1ms", "--link-delay=2us", "--buffer=" + least}), "");
    EXPECT_EQ(with({"--aggregation-delay=1ms", "--no-pfc"}), "");
    // Links that are too long with or without units.
    const std::string links = with({"--aggregation-delay=200ns", "--link-delay=100ms"});
    EXPECT_EQ(links.rfind("--link-delay=100ms: switch ", 0), 0u) << links;
}

TEST(Buffer, WithoutPfcThereIsNoHeadroom)
{
    EXPECT_EQ(Traffic({"--link-delay=100ms", "--no-pfc"}), "");
    EXPECT_EQ(Traffic({"--buffer=10kB", "--topology=single-switch", "--hosts=3", "--no-pfc"}), "");
    EXPECT_EQ(
        Traffic(
            {"--buffer=10kB", "--topology=single-switch", "--hosts=2", "--nic=10GbE", "--no-pfc"}),
        "--buffer=10kB: switch switch-0 gets a buffer of 2kB, too small for two frames; allowed: "
        "--buffer=93kB or more");
}

// 1 MB for 100 Gb/s are 800 kB for 8 ports of 10 Gb/s; 1,000,003 B are 200,000.6 for 2 of them,
// which is no multiple of a unit.
TEST(Buffer, IsNamedWithItsUnit)
{
    const auto text = [](const std::string& buffer, const std::string& hosts) {
        return Traffic({"--link-delay=10s",
                        "--topology=single-switch",
                        "--nic=10GbE",
                        "--buffer=" + buffer,
                        "--hosts=" + hosts});
    };
    EXPECT_NE(text("1MB", "8").find("gets a buffer of 800kB, "), std::string::npos);
    EXPECT_NE(text("1000003", "2").find("gets a buffer of 200001 B, "), std::string::npos);
}

TEST(Buffer, OfAFileAndOfNs3Settings)
{
    const File net(Graph("abs", {"as", "bs"}));
    const std::string error = Traffic({"--topology=" + net.Path(), "--buffer=10kB"});
    EXPECT_NE(error.find("switch s gets a buffer of "), std::string::npos) << error;
    EXPECT_NE(error.find("the delays of its links in the file and --switch-latency=500ns"),
              std::string::npos)
        << error;
    EXPECT_EQ(Traffic({"--buffer=10kB", "--ns3::RdmaSwitch::BufferBytes=100000000"}), "")
        << "then the switch itself judges";
}

// -------------------------------------------------------------------------------------- notes

namespace
{

std::string
Notes(const std::vector<std::string>& args)
{
    const auto result = Dry(ParseAs<TrafficScenario>, args);
    EXPECT_EQ(Errors(result), "");
    std::string all;
    for (const auto& n : result.notes)
    {
        all += n.rfind("warning: ", 0) == 0 ? n + "\n" : "";
    }
    return all;
}

} // namespace

TEST(Warnings, TimeOutBelowTheRoundTrip)
{
    EXPECT_EQ(Notes({}), "");
    EXPECT_EQ(Notes({"--timeout-exponent=4"}), "") << "66 us";
    const std::string note = Notes({"--timeout-exponent=1"});
    EXPECT_EQ(note.rfind("warning: --timeout-exponent=1: the local ACK time-out of 8.19 us is "
                         "shorter than the round trip of ",
                         0),
              0u)
        << note;
    // 4 links of 1 us, 3 switches of 500 ns; 4178 and 86 B on the wire
    const std::string across = Notes(
        {"--topology=leaf-spine", "--leaves=2", "--hosts-per-leaf=4", "--timeout-exponent=1"});
    EXPECT_NE(across.find("round trip of 12.4 us between host server-0 and host server-4: "),
              std::string::npos)
        << across;
    EXPECT_EQ(Notes({"--topology=leaf-spine", "--timeout-exponent=1"}), "") << "one leaf: 5.7 us";
    const File net(Graph("abs", {"as", "bs"}));
    EXPECT_EQ(Notes({"--topology=" + net.Path(), "--timeout-exponent=1"}), "") << "5.7 us";
}

TEST(Warnings, AcksFartherApartThanTheTimeOut)
{
    const std::string note = Notes({"--ack-every=65536", "--timeout-exponent=8"});
    EXPECT_EQ(note,
              "warning: --timeout-exponent=8: the local ACK time-out of 1.05 ms is shorter than "
              "the 3.26 ms that 9766 packets take at "
              "100 Gb/s, and --ack-every=65536 asks for no ACK sooner: packets are sent again "
              "before their ACK can come\n")
        << "40 MB are 9766 packets";
    EXPECT_EQ(Notes({"--ack-every=65536", "--timeout-exponent=8", "--bytes=1MB"}), "")
        << "the last packet of a message is acknowledged";
    EXPECT_EQ(Notes({"--ack-every=65536"}), "");
}

TEST(Warnings, MarksFromLessThanAFrame)
{
    const std::string note = Notes({"--ecn-kmin=1kB"});
    EXPECT_EQ(note,
              "warning: --ecn-kmin=1kB: 1000 B at 100 Gb/s, less than one full frame of 4158 B: a "
              "packet is marked even if nothing else "
              "is queued\n");
    EXPECT_EQ(Notes({"--ecn-kmin=1kB", "--no-ecn", "--cc=none"}), "");
    EXPECT_EQ(Notes({"--ecn-kmin=1kB", "--mtu=256"}), "");
}

TEST(Warnings, MarksThatDoNotCome)
{
    EXPECT_EQ(Notes({"--no-ecn"}),
              "warning: --no-ecn: there are no ECN marks, which are all that --cc=dcqcn goes by\n");
    EXPECT_EQ(Notes({"--no-ecn", "--cc=dctcp"}),
              "warning: --no-ecn: there are no ECN marks, which are all that --cc=dctcp goes by\n");
    EXPECT_EQ(Notes({"--no-ecn", "--cc=hpcc"}), "");
}

// Three ports of 100 Gb/s have 3 MB. Headroom of a port and lossless priority (3, 4, 5): 12.5 B/ns
// x (2 x 1 us + 500 ns) + 1 + 3 x (4,178 + 20) + 84 = 43,929 B; 4,096 B are guaranteed. The pool is
// 3,000,000 - 9 x 48,025 = 2,567,775 B, of which two queues may each hold 1/8 of what is free:
// 4,096 + 2,567,775 / (8 + 2) = 260,873.5 B. DCTCP's marks begin at 300 kB (HPCC's run.py).
TEST(Warnings, OfPausesBeforeTheFirstMark)
{
    const File two("start_ns,src,dst,bytes,priority\n0,0,2,1000,4\n0,1,2,1000,5\n");
    const File one("start_ns,src,dst,bytes,priority\n0,0,2,1000,4\n0,1,2,1000,4\n");
    const auto notes = [](const File& flows, std::vector<std::string> more) {
        more.insert(more.begin(),
                    {"--topology=single-switch", "--hosts=3", "--flows=" + flows.Path()});
        return Notes(more);
    };
    const std::string note = notes(two, {"--cc=dctcp"});
    EXPECT_EQ(note.rfind("warning: --cc=dctcp hears of ECN marks alone, and PFC pauses before the "
                         "first: in switch-0 the queue to host server-2 in priority 4 is paused at "
                         "26087",
                         0),
              0u)
        << note;
    EXPECT_NE(note.find("and marks begin at 300kB; allowed: --ecn-kmin and --ecn-kmax below 26087"),
              std::string::npos)
        << note;
    // 1 MB + (10 x (300,000 - 4,096) - 2,567,775) / 3 = 1,130,422 B.
    EXPECT_NE(note.find(", or --buffer=1140kB or more"), std::string::npos) << note;
    EXPECT_EQ(notes(two, {"--cc=dctcp", "--buffer=1140kB"}), "");
    EXPECT_EQ(notes(two, {"--cc=dctcp", "--ecn-kmin=260kB", "--ecn-kmax=260kB"}), "");
    EXPECT_EQ(notes(two, {"--cc=dctcp", "--no-pfc"}), "");
    EXPECT_EQ(notes(two, {"--cc=hpcc"}), "") << "needs no marks";
    // In one priority two senders fill one queue: twice as much.
    EXPECT_EQ(notes(one, {"--cc=dctcp"}), "");
    EXPECT_NE(notes(two, {}).find("--cc=dcqcn hears"), std::string::npos) << "400 kB";
    // Of the GPUs of a cluster two may send to one NIC at once.
    const auto train =
        Dry(ParseAs<TrainingScenario>,
            {"--servers=4", "--cc=dctcp", "--cc-preset=sigcomm10", "--buffer=500kB"});
    EXPECT_TRUE(std::any_of(train.notes.begin(), train.notes.end(), [](const std::string& n) {
        return n.find("--cc=dctcp hears of ECN marks alone") != std::string::npos;
    }));
}

// Swift aims at 25 us and 1 us a switch: five between pods. Six links of 10 Gb/s take 6 x 8 x 4264
// B / 10 Gb/s = 20.5 us for a packet and its ACK, and the ways there and back 12 us of cables and
// five pipelines twice; at 25 Gb/s 8.2 us.
TEST(Warnings, DelaysThatAnIdleNetworkHas)
{
    const std::string note = Notes({"--cc=swift", "--nic=10GbE"});
    EXPECT_EQ(note.rfind("warning: --cc=swift: its target delay of 30 us between ", 0), 0u) << note;
    EXPECT_NE(note.find("on an idle network: a flow is slow even if it is alone"),
              std::string::npos);
    EXPECT_EQ(Notes({"--cc=swift", "--nic=10GbE", "--mtu=1024"}), "");
    EXPECT_EQ(Notes({"--cc=swift", "--nic=25GbE"}), "");
    EXPECT_EQ(Notes({"--cc=swift", "--nic=10GbE", "--ns3::SwiftCongestionOps::BaseTarget=40us"}),
              "");
}

TEST(Warnings, TelemetryOfSeveralWays)
{
    const auto notes = [](const std::string& cc, const std::string& balancer) {
        return Notes(
            {"--topology=leaf-spine", "--cc=" + cc, "--ns3::RdmaSwitch::LoadBalancer=" + balancer});
    };
    for (const std::string cc : {"hpcc", "powertcp"})
    {
        for (const std::string balancer : {"spray", "adaptive"})
        {
            const std::string note = notes(cc, balancer);
            EXPECT_EQ(note.rfind("warning: --cc=" + cc +
                                     " with ns3::RdmaSwitch::LoadBalancer=" + balancer + ": ",
                                 0),
                      0u)
                << note;
        }
        EXPECT_EQ(notes(cc, "ecmp"), "") << "a flow keeps its way";
        EXPECT_EQ(Notes({"--topology=leaf-spine", "--cc=" + cc}), "");
        EXPECT_EQ(Notes({"--topology=single-switch",
                         "--cc=" + cc,
                         "--ns3::RdmaSwitch::LoadBalancer=spray"}),
                  "")
            << "there is one way";
    }
    for (const std::string cc : {"dcqcn", "swift", "theta-powertcp", "none"})
    {
        EXPECT_EQ(notes(cc, "spray"), "") << cc;
    }
}

TEST(Wording, OneIsNoPlural)
{
    const auto one = Dry(ParseAs<TrainingScenario>, {"--gpus=8"});
    ASSERT_TRUE(one.scenario);
    ASSERT_FALSE(one.notes.empty());
    EXPECT_EQ(one.notes[0], "fat-tree: k=2, the smallest for 1 server");
    EXPECT_EQ(Train({"--servers=1", "--gpus=16"}),
              "--gpus=16: 1 server has 8 GPUs; allowed: at most that, or --servers=2");
    const File direct(Graph("ab", {"ab"}));
    const auto pair = Dry(ParseAs<TrafficScenario>,
                          {"--topology=" + direct.Path(), "--pattern=incast", "--fan-in=1"});
    ASSERT_TRUE(pair.scenario);
    const std::string plan = PlanText(*pair.scenario);
    EXPECT_NE(plan.find("traffic: incast, 1 flow\n"), std::string::npos) << plan;
    EXPECT_NE(plan.find(": 2 hosts, no switches, 1 link\n"), std::string::npos) << plan;
    const auto leaf = Dry(ParseAs<TrafficScenario>, {"--topology=leaf-spine", "--hosts=2"});
    ASSERT_TRUE(leaf.scenario);
    EXPECT_EQ(leaf.scenario->topologyName.rfind("leaf-spine, 1 leaf, ", 0), 0u)
        << leaf.scenario->topologyName;
}

TEST(Wording, PresetsAreNoCongestionControls)
{
    const auto controls = Dry(ParseAs<TrafficScenario>, {"--list=cc"});
    const auto presets = Dry(ParseAs<TrafficScenario>, {"--list=cc-preset"});
    ASSERT_TRUE(controls.text && presets.text);
    EXPECT_EQ(controls.text->find("sigcomm15"), std::string::npos) << *controls.text;
    EXPECT_NE(presets.text->find("  sigcomm15"), std::string::npos) << *presets.text;
    const std::string training = *Dry(ParseAs<TrainingScenario>, {"--help"}).text;
    const size_t profile = training.find("--profile=FILE");
    EXPECT_NE(training.substr(profile, 300).find("none]"), std::string::npos)
        << training.substr(profile, 300);
    const auto help = Dry(ParseAs<TrafficScenario>, {"--help"});
    ASSERT_TRUE(help.text);
    EXPECT_NE(help.text->find("\n  cc: " + JoinNames(CongestionItems()) + "\n"), std::string::npos);
    EXPECT_EQ(help.text->find("time-outs or"), std::string::npos) << "only time-outs count";
}
