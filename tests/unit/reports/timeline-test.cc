// SPDX-License-Identifier: GPL-2.0-only
// timeline.json, of files made by hand: where arrows begin and end. That whole runs are shown right
// is tested from outside (tests/system/scripts/scripts-timeline.py).
#include "reports/schema/written.h"
#include "reports/timeline/timeline-choice.h"
#include "reports/timeline/timeline-writer.h"
#include "scratch-folder.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace reports
{
namespace
{

using nlohmann::ordered_json;

class Timeline : public ScratchFolder
{
  protected:
    struct Arrow
    {
        std::string from; ///< track
        std::string to;
        double begin;
        double end;
    };

    const std::string CALLS = "# calls\n# " + HeaderOf("calls.log") + "\n";
    const std::string FLOWS = WithoutClass(HeaderOf("flows.csv")) + "\n";

    /// The last column, which most runs do not have.
    static std::string WithoutClass(const std::string& header)
    {
        return header.substr(0, header.rfind(",class"));
    }

    std::string Folder(const std::string& calls, const std::string& flows)
    {
        const std::string name = "run-" + std::to_string(++m_runs);
        std::filesystem::create_directories(Path(name));
        Write(name + "/calls.log", CALLS + calls);
        Write(name + "/flows.csv", FLOWS + flows);
        return Path(name);
    }

    /// The arrows of the trace of such files, in the order of their messages.
    std::vector<Arrow> Arrows(const std::string& calls, const std::string& flows)
    {
        const std::string folder = Folder(calls, flows);
        WriteTimeline(folder, folder + "/timeline.json", 1000);
        std::ifstream file(folder + "/timeline.json");
        const ordered_json trace = ordered_json::parse(file);
        std::map<int, std::string> processes;
        std::map<int, std::string> threads;
        std::map<int, Arrow> arrows;
        for (const auto& event : trace["traceEvents"])
        {
            const std::string kind = event["ph"];
            const int tid = event["tid"];
            if (event["name"] == "process_name")
            {
                processes[event["pid"]] = event["args"]["name"];
            }
            else if (event["name"] == "thread_name")
            {
                threads[tid] =
                    processes[event["pid"]] + " " + event["args"]["name"].get<std::string>();
            }
            else if (kind == "s")
            {
                arrows[event["id"]].from = threads.at(tid);
                arrows[event["id"]].begin = event["ts"];
            }
            else if (kind == "f")
            {
                arrows[event["id"]].to = threads.at(tid);
                arrows[event["id"]].end = event["ts"];
            }
        }
        std::vector<Arrow> result;
        for (const auto& [id, arrow] : arrows)
        {
            result.push_back(arrow);
        }
        return result;
    }

    void Expect(const std::string& what,
                const Arrow& found,
                const std::string& from,
                const std::string& to,
                double begin,
                double end)
    {
        EXPECT_EQ(found.from, from) << what;
        EXPECT_EQ(found.to, to) << what;
        EXPECT_NEAR(found.begin, begin, 1e-9) << what;
        EXPECT_NEAR(found.end, end, 1e-9) << what;
    }

  private:
    int m_runs{0};
};

TEST_F(Timeline, ArrowsGoFromTheSendersCallToTheReceivers)
{
    // Two calls of one name in a step, as gradient accumulation makes them; rank 1 is late for
    // the first, and a computation has that name too.
    const std::string calls = "0\t5\t1\t0\tcompute\tcompute\tx\t0\t-\n"
                              "10\t20\t1\t0\tgradients\tcollective\tx\t8\tdata\n"
                              "15\t25\t1\t1\tgradients\tcollective\tx\t8\tdata\n"
                              "30\t40\t1\t0\tgradients\tcollective\tx\t8\tdata\n"
                              "30\t40\t1\t1\tgradients\tcollective\tx\t8\tdata\n";
    const std::string gpu0 = "GPU 0 gradients";
    const std::string gpu1 = "GPU 1 gradients";
    // The first ns of a call and the last three are kept free of arrows.
    const auto found = Arrows(calls,
                              "0,a,b,8,11,17,6,6,x,0,1\n"     // as it is
                              "1,a,b,8,11,12,1,1,x,0,1\n"     // before rank 1 was there
                              "2,a,b,8,10,25,15,1,x,0,1\n"    // from the begin to the end
                              "3,a,b,8,22,24,2,1,x,0,1\n"     // posted after the call's end
                              "4,a,b,8,30.5,39,8.5,8,x,0,1\n" // of the second one
                              "5,b,a,8,31,39,8,8,x,1,0\n"     // the other way
                              "6,a,b,8,11,17,6,4,y,0,1\n"     // no such call
                              "7,a,b,8,11,17,6,4,x,0,2\n"     // no such GPU
                              "8,a,b,8,11,17,6,4,x,,\n"       // between hosts
                              "9,a,b,8,26,28,2,1,x,0,1\n"     // of a call that is not logged
                              "10,a,b,8,5,9,4,4,x,0,1\n");    // the same
    ASSERT_EQ(found.size(), 11U) << "an arrow for every message";
    Expect("0", found[0], gpu0, gpu1, 11, 17);
    Expect("1", found[1], gpu0, gpu1, 11, 15.001);
    Expect("2", found[2], gpu0, gpu1, 10.001, 24.997);
    Expect("3", found[3], gpu0, gpu1, 19.997, 24);
    Expect("4", found[4], gpu0, gpu1, 30.5, 39);
    Expect("5", found[5], gpu1, gpu0, 31, 39);
    // From the middle of one slice to the middle of the other, which is as long as the message
    // takes on an idle network. Which lane a message is in is not looked at here.
    for (const int i : {6, 7, 8, 9, 10})
    {
        EXPECT_EQ(found[i].from.substr(0, 11), "NIC a sends") << i;
        EXPECT_EQ(found[i].to.substr(0, 14), "NIC b receives") << i;
    }
    EXPECT_NEAR(found[6].begin, 14, 1e-9) << "middle of 11 to 17";
    EXPECT_NEAR(found[6].end, 15, 1e-9) << "middle of 13 to 17";
}

TEST_F(Timeline, ACallOfAnotherStepIsNotTheReceivers)
{
    const auto steps = Arrows("10\t20\t1\t0\tgradients\tcollective\tx\t8\tdata\n"
                              "10\t20\t2\t1\tgradients\tcollective\tx\t8\tdata\n",
                              "0,a,b,8,11,17,6,6,x,0,1\n");
    ASSERT_EQ(steps.size(), 1U) << "an arrow";
    EXPECT_EQ(steps[0].from, "NIC a sends") << "another step";
}

TEST_F(Timeline, NothingIsLeftOfAFileThatCannotBeMade)
{
    // Nothing to show, and no place for it: nothing is left of the file.
    bool nothing = false;
    const std::string empty = Folder("", "");
    try
    {
        WriteTimeline(empty, empty + "/timeline.json", 1000);
    }
    catch (const NothingToShow&)
    {
        nothing = true;
    }
    EXPECT_EQ(nothing, true) << "nothing to show";
    bool failed = false;
    const std::string full = Folder("10\t20\t1\t0\tgradients\tcollective\tx\t8\tdata\n", "");
    try
    {
        WriteTimeline(full, "/dev/full/timeline.json", 1000);
    }
    catch (const NothingToShow&)
    {
    }
    catch (const std::runtime_error& error)
    {
        failed = std::string(error.what()).find("cannot be written") != std::string::npos;
    }
    EXPECT_EQ(failed, true) << "no place";
    for (const std::string& folder : {empty, full})
    {
        EXPECT_EQ(std::filesystem::exists(folder + "/timeline.json"), false) << "none";
        EXPECT_EQ(std::filesystem::exists(folder + "/timeline.json.part"), false) << "no part";
    }
}

} // namespace
} // namespace reports
