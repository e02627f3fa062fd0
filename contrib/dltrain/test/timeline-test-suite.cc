/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * timeline.json, of files made by hand: what is read of them, and where arrows begin and end. That
 * whole runs are shown right is tested from outside (tests/system/scripts-timeline.py).
 */
#include "ns3/run-files.h"
#include "ns3/test.h"
#include "ns3/timeline-writer.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

using namespace dltrain;
using namespace ns3;
using nlohmann::ordered_json;

namespace
{

void
Write(const std::string& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary) << text;
}

class RunFilesTestCase : public TestCase
{
  public:
    RunFilesTestCase()
        : TestCase("rows of files: quoted, damaged, cut off, of older versions")
    {
    }

  private:
    /// The wanted columns b, a and later, joined by bars; rows joined by slashes.
    std::string Read(const std::string& text, char separator = ',')
    {
        const std::string path = CreateTempDirFilename("table");
        Write(path, text);
        FileTable table(path, separator, {"b", "a", "later"}, 1);
        std::string result;
        while (table.Next())
        {
            result += std::string(table[0]) + "|" + std::string(table[1]) + "|" +
                      std::string(table[2]) + "/";
        }
        return result;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n1,2\n3,4\n"), "2|1|/4|3|/", "an older file");
        NS_TEST_EXPECT_MSG_EQ(Read("a,x,b,later\n1,,2,5\n"), "2|1|5/", "a newer file");
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n1,2\n3,4"), "2|1|/", "the last line is cut off");
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n1\n1,2,3\n3,4\n"), "4|3|/", "fields missing, too many");
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n\"x,\"\"y\"\"\",\"\"\n"), "|x,\"y\"|/", "quoted");
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n\"x\n\ny\",2\n3,4\n"), "2|x\n\ny|/4|3|/", "line breaks");
        NS_TEST_EXPECT_MSG_EQ(Read(""), "", "empty");
        NS_TEST_EXPECT_MSG_EQ(Read("a,b\n"), "", "no rows");
        NS_TEST_EXPECT_MSG_EQ(Read("# words\n# b\ta\n\"2\t1,\n# 5\t6\n", '\t'),
                              "\"2|1,|/# 5|6|/",
                              "tabs: comments at the beginning only, nothing is quoted");
        bool thrown = false;
        try
        {
            Read("a,c\n1,2\n");
        }
        catch (const std::runtime_error& error)
        {
            thrown = std::string(error.what()).find("column 'b' is missing") != std::string::npos;
        }
        NS_TEST_EXPECT_MSG_EQ(thrown, true, "a column is missing");
        FileTable none(CreateTempDirFilename("none"), ',', {"a"});
        NS_TEST_EXPECT_MSG_EQ(none.Next(), false, "no file");

        // Longer than what is read at a time.
        std::string text = "a,b\n";
        std::string expected;
        for (int i = 0; i < 60000; ++i)
        {
            text += std::to_string(i) + "," + std::to_string(i + 1) + "\n";
            expected += std::to_string(i + 1) + "|" + std::to_string(i) + "|/";
        }
        NS_TEST_EXPECT_MSG_EQ((Read(text) == expected), true, "a long file");

        int64_t ps = 0;
        for (const auto& [word, value] :
             std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                          {"12.5", 12500000},
                                                          {"0.000001", 1},
                                                          {"-3.25", -3250000},
                                                          {"7.0000019", 7000001},
                                                          {"9000000000", 9000000000000000}})
        {
            NS_TEST_EXPECT_MSG_EQ(ParseMicroseconds(word, ps), true, word);
            NS_TEST_EXPECT_MSG_EQ(ps, value, word);
        }
        for (const char* word :
             {"", "-", ".5", "x", "1e3", "1.x", "--1", "1 ", "99999999999999999"})
        {
            NS_TEST_EXPECT_MSG_EQ(ParseMicroseconds(word, ps), false, word);
        }
        uint32_t rank = 0;
        NS_TEST_EXPECT_MSG_EQ(ParseInteger(std::string_view("4294967295"), rank), true, "largest");
        NS_TEST_EXPECT_MSG_EQ(ParseInteger(std::string_view("4294967296"), rank), false, "larger");
        NS_TEST_EXPECT_MSG_EQ(ParseInteger(std::string_view("1.5"), rank), false, "no integer");
    }
};

class ArrowsTestCase : public TestCase
{
  public:
    ArrowsTestCase()
        : TestCase("arrows from the sender's call to the receiver's")
    {
    }

  private:
    struct Arrow
    {
        std::string from; ///< track
        std::string to;
        double begin;
        double end;
    };

    static constexpr const char* CALLS =
        "# calls\n# start_us\tend_us\tstep\trank\tstream\tkind\tcall\tbytes\tgroup\n";
    static constexpr const char* FLOWS =
        "flow,src,dst,bytes,start_us,end_us,fct_us,ideal_fct_us,tag,from_gpu,to_gpu\n";

    std::string Folder(const std::string& calls, const std::string& flows)
    {
        const std::string folder = CreateTempDirFilename("run-" + std::to_string(++m_runs));
        std::filesystem::create_directories(folder);
        Write(folder + "/calls.log", CALLS + calls);
        Write(folder + "/flows.csv", FLOWS + flows);
        return folder;
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
        NS_TEST_EXPECT_MSG_EQ(found.from, from, what);
        NS_TEST_EXPECT_MSG_EQ(found.to, to, what);
        NS_TEST_EXPECT_MSG_EQ_TOL(found.begin, begin, 1e-9, what);
        NS_TEST_EXPECT_MSG_EQ_TOL(found.end, end, 1e-9, what);
    }

    void DoRun() override
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
        NS_TEST_ASSERT_MSG_EQ(found.size(), 11, "an arrow for every message");
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
            NS_TEST_EXPECT_MSG_EQ(found[i].from.substr(0, 11), "NIC a sends", i);
            NS_TEST_EXPECT_MSG_EQ(found[i].to.substr(0, 14), "NIC b receives", i);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(found[6].begin, 14, 1e-9, "middle of 11 to 17");
        NS_TEST_EXPECT_MSG_EQ_TOL(found[6].end, 15, 1e-9, "middle of 13 to 17");

        // A call of the other step is not the receiver's.
        const auto steps = Arrows("10\t20\t1\t0\tgradients\tcollective\tx\t8\tdata\n"
                                  "10\t20\t2\t1\tgradients\tcollective\tx\t8\tdata\n",
                                  "0,a,b,8,11,17,6,6,x,0,1\n");
        NS_TEST_ASSERT_MSG_EQ(steps.size(), 1, "an arrow");
        NS_TEST_EXPECT_MSG_EQ(steps[0].from, "NIC a sends", "another step");

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
        NS_TEST_EXPECT_MSG_EQ(nothing, true, "nothing to show");
        bool failed = false;
        const std::string full = Folder(calls, "");
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
        NS_TEST_EXPECT_MSG_EQ(failed, true, "no place");
        for (const std::string& folder : {empty, full})
        {
            NS_TEST_EXPECT_MSG_EQ(std::filesystem::exists(folder + "/timeline.json"),
                                  false,
                                  "none");
            NS_TEST_EXPECT_MSG_EQ(std::filesystem::exists(folder + "/timeline.json.part"),
                                  false,
                                  "no part");
        }
    }

    int m_runs{0};
};

class TimelineTestSuite : public TestSuite
{
  public:
    TimelineTestSuite()
        : TestSuite("dltrain-timeline", UNIT)
    {
        AddTestCase(new RunFilesTestCase, TestCase::QUICK);
        AddTestCase(new ArrowsTestCase, TestCase::QUICK);
    }
};

TimelineTestSuite g_timelineTestSuite;

} // namespace
