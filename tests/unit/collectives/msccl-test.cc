/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Schedules from MSCCL-style files: read, ordered into lanes, proved; and files that are none.
 */
#include "collectives/msccl/msccl-xml.h"
#include "collectives/msccl/xml-tags.h"
#include "prove.h"

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <unistd.h>

namespace coll
{
namespace
{

std::string
StepXml(uint32_t s,
        const std::string& type,
        const std::string& source,
        uint32_t sourceOffset,
        const std::string& destination,
        uint32_t destinationOffset,
        int block = -1,
        int step = -1)
{
    return "      <step s=\"" + std::to_string(s) + "\" type=\"" + type + "\" srcbuf=\"" + source +
           "\" srcoff=\"" + std::to_string(sourceOffset) + "\" dstbuf=\"" + destination +
           "\" dstoff=\"" + std::to_string(destinationOffset) + "\" cnt=\"1\" depid=\"" +
           std::to_string(block) + "\" deps=\"" + std::to_string(step) + "\" hasdep=\"0\"/>\n";
}

std::string
Algo(const std::string& coll, Rank n, uint32_t chunks, const std::function<std::string(Rank)>& gpu)
{
    std::string text = "<algo name=\"test\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"" +
                       std::to_string(chunks) + "\" ngpus=\"" + std::to_string(n) + "\" coll=\"" +
                       coll + "\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"0\">\n";
    for (Rank r = 0; r < n; r++)
    {
        text += gpu(r);
    }
    return text + "</algo>\n";
}

std::string
Gpu(Rank r, uint32_t scratch, const std::string& blocks)
{
    return "  <gpu id=\"" + std::to_string(r) + "\" s_chunks=\"" + std::to_string(scratch) +
           "\">\n" + blocks + "  </gpu>\n";
}

std::string
Tb(uint32_t id, int send, int recv, const std::string& steps, uint32_t channel = 0)
{
    return "    <tb id=\"" + std::to_string(id) + "\" send=\"" + std::to_string(send) +
           "\" recv=\"" + std::to_string(recv) + "\" chan=\"" + std::to_string(channel) + "\">\n" +
           steps + "    </tb>\n";
}

/// A ring of n chunks: all-reduce as in ring-all-reduce.cc.
std::string
Ring(Rank n)
{
    return Algo("allreduce", n, n, [&](Rank r) {
        std::string steps;
        for (uint32_t k = 0; k < 2 * n - 1; k++)
        {
            const uint32_t chunk = (r + 2 * n - 1 - k) % n;
            const std::string type = k == 0 ? "s" : k < n ? "rrcs" : k + 2 < 2 * n ? "rcs" : "r";
            steps += StepXml(k, type, "i", chunk, "i", chunk);
        }
        return Gpu(r, 0, Tb(0, (r + 1) % n, (r + n - 1) % n, steps));
    });
}

/// All-to-all, a thread block for each partner and one that copies, as src/xml_generator of
/// microsoft/msccl writes it.
std::string
AllPairs(Rank n)
{
    return Algo("alltoall", n, n, [&](Rank r) {
        std::string blocks;
        for (Rank j = 0; j < n; j++)
        {
            const int peer = static_cast<int>(j);
            blocks += j == r
                          ? Tb(j, -1, -1, StepXml(0, "cpy", "i", r, "o", r))
                          : Tb(j,
                               peer,
                               peer,
                               StepXml(0, "s", "i", j, "o", r) + StepXml(1, "r", "i", r, "o", j));
        }
        return Gpu(r, 0, blocks);
    });
}

/// Every-to-every all-reduce of one chunk: what comes into scratch is added up by the first block,
/// which waits for all others.
std::string
Naive(Rank n)
{
    return Algo("allreduce", n, 1, [&](Rank r) {
        std::string blocks;
        uint32_t id = 0;
        for (Rank j = 0; j < n; j++)
        {
            if (j == r)
            {
                continue;
            }
            std::string steps = StepXml(0, "s", "i", 0, "s", r) + StepXml(1, "r", "i", 0, "s", j);
            uint32_t s = 2;
            for (uint32_t other = 1; id == 0 && other + 1 < n; other++)
            {
                steps += StepXml(s++, "nop", "i", 0, "i", 0, static_cast<int>(other), 1);
            }
            for (Rank from = 0; id == 0 && from < n; from++)
            {
                steps += from == r ? "" : StepXml(s++, "re", "s", from, "i", 0);
            }
            blocks += Tb(id++, static_cast<int>(j), static_cast<int>(j), steps);
        }
        return Gpu(r, n, blocks);
    });
}

std::unique_ptr<Algorithm>
ReadGood(const std::string& text)
{
    std::string error;
    auto algorithm = ReadMscclXml(text, "a.xml", &error);
    EXPECT_NE(algorithm, nullptr) << error;
    return algorithm;
}

void
ProveMsccl(const Algorithm& algorithm, Op op, Rank n, uint64_t bytes, uint64_t pipelineBytes)
{
    Collective what;
    what.op = op;
    what.ranks = n;
    what.bytes = bytes;
    const auto placement = UniformPlacement(n, 1);
    const AlgorithmOptions options{0, pipelineBytes};
    ASSERT_EQ(algorithm.WhyNot(what, placement, options), "");
    const auto report = Check(*algorithm.Make(what, placement, options), {&placement, true});
    ASSERT_TRUE(report.Ok()) << report.Problems();
    const auto cost = algorithm.CostOf(what, placement, options);
    EXPECT_EQ(report.totalBytes, cost->totalBytes);
    EXPECT_EQ(report.longestChain, cost->chain);
    EXPECT_EQ(MostOf(report.messagesSent), cost->posts);
    EXPECT_EQ(MostOf(report.bytesSent), cost->sentPerRank);
    EXPECT_EQ(MostOf(report.bytesReduced), cost->reducedPerRank);
    EXPECT_EQ(MostOf(report.bytesCopied), cost->copiedPerRank);
    EXPECT_EQ(MostOf(report.bytesOutOfServer), cost->outOfServer);
    if (pipelineBytes != 0)
    {
        EXPECT_LE(report.largestMessage, pipelineBytes);
    }
}

TEST(Msccl, ReadsARing)
{
    for (const Rank n : {2U, 3U, 8U})
    {
        const auto ring = ReadGood(Ring(n));
        ASSERT_TRUE(ring);
        for (const uint64_t pipeline : {0U, 30U, 1000U})
        {
            ProveMsccl(*ring, Op::kAllReduce, n, 100 * n, pipeline);
        }
        ProveMsccl(*ring, Op::kAllReduce, n, 0, 0);
        // The same as the built-in one, which has as many messages and bytes.
        const Collective what{Op::kAllReduce, 100UL * n, n, 0};
        const auto placement = UniformPlacement(n, 1);
        const Cost own = *Find(what.op, "ring")->CostOf(what, placement, {});
        const Cost read = *ring->CostOf(what, placement, {});
        EXPECT_EQ(read.chain, own.chain);
        EXPECT_EQ(read.totalBytes, own.totalBytes);
        EXPECT_EQ(ring->Make(what, placement, {})->Lanes(0), 1U);
    }
}

TEST(Msccl, TheExampleOfTheDocumentation)
{
    std::ifstream in(DLTRAIN_ROOT "/docs/collectives.md");
    const std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const std::string fence = "```xml\n";
    const auto begin = page.find(fence);
    ASSERT_NE(begin, std::string::npos);
    const std::string text =
        page.substr(begin + fence.size(), page.find("```", begin + 3) - begin - fence.size());
    const auto pair = ReadGood(text);
    ASSERT_TRUE(pair);
    ProveMsccl(*pair, Op::kAllReduce, 2, 4096, 0);
    // A step that hands on without adding: not all arrives.
    std::string error;
    std::string wrong = text;
    wrong.replace(wrong.find("rrcs"), 4, "rcs");
    EXPECT_EQ(ReadMscclXml(wrong, "a.xml", &error), nullptr) << "nothing is added up";
}

TEST(Msccl, ReadsAllToAllByThreadBlocksOfTheirOwn)
{
    const auto pairs = ReadGood(AllPairs(5));
    ASSERT_TRUE(pairs);
    ProveMsccl(*pairs, Op::kAllToAll, 5, 5000, 0);
    ProveMsccl(*pairs, Op::kAllToAll, 5, 5000, 300);
    const auto schedule = pairs->Make({Op::kAllToAll, 5000, 5, 0}, UniformPlacement(5, 1), {});
    // Each partner a lane, and the copy: no more than 2 (n-1) + 1 (a greedy colouring).
    EXPECT_LE(schedule->Lanes(0), 9U);
    EXPECT_GE(schedule->Lanes(0), 5U);
}

TEST(Msccl, JoinsThreadBlocksThatWaitForEachOther)
{
    for (const Rank n : {2U, 3U, 6U})
    {
        const auto naive = ReadGood(Naive(n));
        ASSERT_TRUE(naive);
        ProveMsccl(*naive, Op::kAllReduce, n, 1000, 0);
        ProveMsccl(*naive, Op::kAllReduce, n, 1000, 90);
        const Collective what{Op::kAllReduce, 1000, n, 0};
        const auto schedule = naive->Make(what, UniformPlacement(n, 1), {});
        EXPECT_EQ(schedule->Lanes(0), 1U);
        for (StepIndex k = 0; k + 1 < n; k++)
        {
            EXPECT_NE(schedule->At(0, 0, k).sendPeer, kNoRank) << "sends come first";
        }
    }
}

// 3 ranks in a chain: 0 sends, 1 adds its own and sends on without keeping it (rrs), 2 adds its own
// and keeps it (rrc), and all get the sum by rcs and r.
TEST(Msccl, KeepsWhatRrsAddsUpApart)
{
    const std::string chain = Algo("allreduce", 3, 1, [](Rank r) {
        const int next = r < 2 ? static_cast<int>(r) + 1 : 0;
        const int previous = r > 0 ? static_cast<int>(r) - 1 : 2;
        const std::string steps =
            r == 0   ? StepXml(0, "s", "i", 0, "i", 0) + StepXml(1, "rcs", "i", 0, "o", 0)
            : r == 1 ? StepXml(0, "rrs", "i", 0, "i", 0) + StepXml(1, "r", "i", 0, "o", 0)
                     : StepXml(0, "rrcs", "i", 0, "o", 0);
        return Gpu(r, 0, Tb(0, next, previous, steps));
    });
    const auto read = ReadGood(chain);
    ASSERT_TRUE(read);
    ProveMsccl(*read, Op::kAllReduce, 3, 100, 0);
    ProveMsccl(*read, Op::kAllReduce, 3, 100, 7);
    EXPECT_EQ(read->CostOf({Op::kAllReduce, 100, 3, 0}, UniformPlacement(3, 1), {})->copiedPerRank,
              100);
}

void
ExpectRefused(const std::string& text, const std::string& words)
{
    SCOPED_TRACE(words);
    std::string error;
    EXPECT_EQ(ReadMscclXml(text, "a.xml", &error), nullptr);
    EXPECT_NE(error.find(words), std::string::npos) << "says instead: " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
}

/// `text` with the first of `what` that stands behind `behind` replaced.
std::string
With(std::string text,
     const std::string& what,
     const std::string& by,
     const std::string& behind = "")
{
    const size_t at = text.find(what, text.find(behind));
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

TEST(Msccl, SaysInWhichLineAFileIsWrong)
{
    const std::string good = Ring(3); // line 1 <algo>, 2 <gpu>, 3 <tb>, 4 to 8 steps
    ASSERT_TRUE(ReadGood(good));
    ExpectRefused("", "a.xml:1: the file ends where <algo> is needed");
    ExpectRefused("hello", "a.xml:1: text where a tag is needed");
    ExpectRefused("<html/>", "a.xml:1: <html> where <algo> is needed");
    ExpectRefused(good.substr(0, good.size() / 2), "a.xml:14: ");
    ExpectRefused(With(good, "coll=\"allreduce\"", "coll=\"scan\""), "a.xml:1: coll=\"scan\"");
    ExpectRefused(With(good, "ngpus=\"3\"", "ngpus=\"4\""), "3 <gpu> of 4");
    ExpectRefused(With(good, "ngpus=\"3\"", "ngpus=\"99999999999\""), "a.xml:1: ngpus=");
    ExpectRefused(With(good, "ngpus=\"3\"", "gpus=\"3\""), "a.xml:1: <algo> has no attribute gpus");
    ExpectRefused(With(good, "nchunksperloop=\"3\" ", ""),
                  "a.xml:1: <algo> without nchunksperloop");
    ExpectRefused(With(good, "gpu id=\"1\"", "gpu id=\"0\""),
                  "a.xml:11: <gpu> 0 for the second time");
    ExpectRefused(With(good, "send=\"1\"", "send=\"0\""), "a.xml:3: a <tb> of GPU 0 with itself");
    ExpectRefused(With(good, "chan=\"0\"", "chan=\"99\""), "a.xml:3: chan=\"99\"");
    ExpectRefused(With(good, "type=\"rrcs\"", "type=\"res\""), "a.xml:5: type=\"res\"");
    ExpectRefused(With(good, "srcoff=\"2\"", "srcoff=\"3\""),
                  "a.xml:4: srcoff=\"3\" and cnt=\"1\" in a buffer of 3 chunks");
    ExpectRefused(With(good, "srcbuf=\"i\"", "srcbuf=\"s\""), "in a buffer of 0 chunks");
    // What a <gpu> says of its buffers: GPU 0 sends chunk 2 of its input first, so it uses three,
    // and step 1 writes chunk 1 of the output.
    ExpectRefused(With(good, "<gpu id=\"0\"", "<gpu id=\"0\" i_chunks=\"2\""),
                  "a.xml:4: srcoff=\"2\" and cnt=\"1\" where the <gpu> has i_chunks=\"2\"");
    ExpectRefused(With(good, "<gpu id=\"0\"", "<gpu id=\"0\" i_chunks=\"4\""),
                  "a.xml:2: i_chunks=\"4\": allowed: 0 to 3");
    ExpectRefused(With(AllPairs(3), "<gpu id=\"0\"", "<gpu id=\"0\" o_chunks=\"0\""),
                  "where the <gpu> has o_chunks=\"0\"");
    EXPECT_TRUE(
        ReadGood(With(good, "<gpu id=\"0\"", "<gpu id=\"0\" i_chunks=\"3\" o_chunks=\"3\"")));
    ExpectRefused(With(good, "step s=\"1\"", "step s=\"2\""),
                  "a.xml:5: step s=\"2\" where 1 is next");
    ExpectRefused(With(good, "depid=\"-1\" deps=\"-1\"", "depid=\"7\" deps=\"0\""),
                  "a.xml:4: waits for step 0 of <tb> 7, which is not there");
    ExpectRefused(With(good, "depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"1\""),
                  "a.xml:4: GPU 0 waits here for ever");
    ExpectRefused(With(good, "recv=\"2\"", "recv=\"-1\""), "a.xml:5: a receive in a <tb>");
    ExpectRefused(With(AllPairs(3), "dstbuf=\"o\"", "dstbuf=\"i\"", "type=\"r\""),
                  "writes into the input of an alltoall");
    ExpectRefused(good + "<algo/>", "something behind </algo>");
    ExpectRefused(With(good, "<gpu id", "<!DOCTYPE x><gpu id"), "a.xml:2: no name of a tag");
    ExpectRefused(With(good, "name=\"test\"", "name=\"test\" name=\"a\""), "an attribute twice");
    ExpectRefused(With(good, "name=\"test\"", "name=\"&bomb;\""), "an entity that is none of");
}

// The line is that of the step that is wrong by itself, or else of the last that wrote what is
// wrong in the end.
TEST(Msccl, RefusesWhatDoesNotDoTheOperation)
{
    // GPU g of 4 has lines 2 + 11 g (<gpu>), 3 + 11 g (<tb>), and step k 4 + 11 g + k.
    const std::string good = Ring(4);
    // Step 1 of GPU 0 stores chunk 2 instead of adding it; step 5 writes chunk 2 for good.
    ExpectRefused(With(good, "type=\"rrcs\"", "type=\"rcs\""), "a.xml:9: does not do all_reduce");
    // Step 4 of GPU 0 adds a sum to itself.
    ExpectRefused(With(good, "type=\"rcs\"", "type=\"rrcs\""), "a.xml:8: does not do all_reduce");
    // GPU 0 has 2 + 4 + 3 x 2 lines to that of GPU 1's receive (18) of what line 7 sends wrongly.
    ExpectRefused(With(AllPairs(3), "srcoff=\"1\"", "srcoff=\"2\"", "type=\"s\""),
                  "a.xml:18: does not do alltoall");
    // One step less at the end, of GPU 3, so nobody receives what step 5 of GPU 2 sends.
    const size_t last = good.rfind("      <step");
    std::string less = good;
    less.erase(last, good.find('\n', last) + 1 - last);
    ExpectRefused(less, "a.xml:31: does not do all_reduce");
    ExpectRefused(With(good, "recv=\"3\"", "recv=\"2\""), "a.xml:");
    // Nothing done: the line of the GPU that has nothing.
    ExpectRefused(Algo("broadcast", 2, 1, [](Rank r) { return Gpu(r, 0, ""); }),
                  "a.xml:4: does not do broadcast");
    // A race: another thread block, which waits for nothing, passes on what the first receives.
    const std::string race = Algo("broadcast", 3, 1, [](Rank r) {
        const std::string blocks = r == 0   ? Tb(0, 1, -1, StepXml(0, "s", "i", 0, "o", 0))
                                   : r == 1 ? Tb(0, -1, 0, StepXml(0, "r", "i", 0, "o", 0)) +
                                                  Tb(1, 2, -1, StepXml(0, "s", "o", 0, "o", 0))
                                            : Tb(0, -1, 1, StepXml(0, "r", "i", 0, "o", 0));
        return Gpu(r, 0, blocks);
    });
    ExpectRefused(race, "a.xml:12: does not do broadcast, in chunks: race");
    EXPECT_TRUE(
        ReadGood(With(race, "depid=\"-1\" deps=\"-1\"", "depid=\"0\" deps=\"0\"", "tb id=\"1\"")));
}

TEST(Msccl, SaysWhyNot)
{
    const auto ring = ReadGood(Ring(4));
    const auto four = UniformPlacement(4, 1);
    const auto why = [&](const Collective& what, const AlgorithmOptions& options = {}) {
        return ring->WhyNot(what, UniformPlacement(what.ranks, 1), options);
    };
    EXPECT_EQ(why({Op::kAllReduce, 400, 5, 0}), "it is for 4 ranks, not 5");
    EXPECT_EQ(why({Op::kAllReduce, 401, 4, 0}),
              "401 bytes are no whole number for each of its 4 chunks");
    EXPECT_EQ(why({Op::kAllGather, 400, 4, 0}), "it does all_reduce, not all_gather");
    EXPECT_EQ(why({Op::kAllReduce, 400, 4, 0}, {2, 0}), "its channels are those of the file");
    EXPECT_NE(why({Op::kAllReduce, 1UL << 30, 4, 0}, {0, 1}), "");
    EXPECT_THROW(ring->Make({Op::kAllReduce, 401, 4, 0}, four, {}), std::invalid_argument);
}

// Chunks are cut from elements of the user's type: 24 bytes are 6 floats, but 4 chunks of 1 1/2.
TEST(Msccl, ChunksAreWholeElements)
{
    const auto ring = ReadGood(Ring(4));
    EXPECT_EQ(
        WhyNoElements(*ring, 24, 4),
        "a.xml:1: <algo nchunksperloop=\"4\">: chunks of 6 of 24 bytes are no whole elements of "
        "4 bytes; allowed: sizes that are multiples of 16 bytes");
    EXPECT_EQ(WhyNoElements(*ring, 24, 2), "");
    EXPECT_EQ(WhyNoElements(*ring, 32, 4), "");
    EXPECT_EQ(WhyNoElements(*Find(Op::kAllReduce, "ring"), 24, 4), "") << "cuts where it likes";
}

TEST(Msccl, IsFoundByItsPath)
{
    const std::string path = testing::TempDir() + "msccl-test-" + std::to_string(getpid()) + ".xml";
    std::ofstream(path) << Ring(4);
    EXPECT_EQ(RegisterMscclFile(path), "");
    EXPECT_EQ(RegisterMscclFile(path), "");
    ASSERT_NE(Find(Op::kAllReduce, path), nullptr);
    EXPECT_EQ(Find(Op::kAllGather, path), nullptr);
    EXPECT_EQ(AlgorithmNames(Op::kAllReduce).find(path), std::string::npos) << "in no list";
    std::ofstream(path) << Ring(5);
    EXPECT_EQ(RegisterMscclFile(path), path + ": has changed since it was read");
    std::remove(path.c_str());
    EXPECT_NE(RegisterMscclFile(path), "");
    EXPECT_NE(RegisterMscclFile("/"), "");
}

// Files damaged at random: an error in one line, or a schedule that is proved.
TEST(Msccl, NoFileBringsItDown)
{
    const std::vector<std::string> files{Ring(3), AllPairs(3), Naive(3)};
    const std::vector<std::string> words{"<",
                                         ">",
                                         "\"",
                                         "/>",
                                         "</gpu>",
                                         "<!--",
                                         "-1",
                                         "4294967296",
                                         "99999999999999999999",
                                         "\n",
                                         "&",
                                         "<tb>",
                                         "s=\"0\"",
                                         "\xff\x00"};
    std::mt19937 random(11);
    uint32_t read = 0;
    uint32_t refused = 0;
    for (uint32_t trial = 0; trial < 20000; trial++)
    {
        std::string text = files[random() % files.size()];
        for (uint32_t damage = 0; damage <= random() % 3; damage++)
        {
            const size_t at = random() % text.size();
            switch (random() % 5)
            {
            case 0:
                text[at] = static_cast<char>(random());
                break;
            case 1:
                text.erase(at, random() % 40);
                break;
            case 2:
                text.insert(at, words[random() % words.size()]);
                break;
            case 3:
                text.insert(at, text.substr(random() % text.size(), random() % 200));
                break;
            default: { // another number
                const size_t digit = text.find_first_of("0123456789", at);
                if (digit != std::string::npos)
                {
                    text[digit] = static_cast<char>('0' + random() % 10);
                }
            }
            }
            if (text.empty())
            {
                text = " ";
            }
        }
        std::string error;
        const auto algorithm = ReadMscclXml(text, "a.xml", &error);
        ASSERT_EQ(algorithm == nullptr, !error.empty());
        if (!algorithm)
        {
            ASSERT_EQ(error.rfind("a.xml:", 0), 0U) << error;
            ASSERT_EQ(error.find('\n'), std::string::npos) << error;
            refused++;
            continue;
        }
        read++;
    }
    EXPECT_GT(read, 100U); // a name may be anything
    EXPECT_GT(refused, 10000U);

    // Deep nests and long files of one kind end as well.
    std::string deep;
    for (uint32_t i = 0; i < 100000; i++)
    {
        deep += "<algo>";
    }
    ExpectRefused(deep, "a.xml:1: ");
    ExpectRefused(std::string(1 << 20, '<'), "a.xml:1: ");
    ExpectRefused("<algo " + std::string(1 << 20, 'a'), "a.xml:1: ");
}

} // namespace
} // namespace coll
