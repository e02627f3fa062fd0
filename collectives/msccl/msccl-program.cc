/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/msccl/msccl-program.h"

#include "collectives/core/placement.h"
#include "collectives/msccl/xml-tags.h"
#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

namespace coll
{

namespace
{

// Limits of a file: above MSCCL's own (its MSCCL_MAX_NUM_THREAD_BLOCKS is 216 a GPU), and small
// enough that no file costs more than some 100 MB.
constexpr int64_t kMostGpus = 4096;
constexpr std::size_t kMostBlocks = 1024; ///< blocks of a GPU
constexpr int64_t kMostProgramChunks = 1 << 30;

class Reader
{
  public:
    Reader(const std::string& text, const std::string& name, MscclProgram* program)
        : m_tags(text),
          m_name(name),
          m_program(*program)
    {
    }

    bool Read(std::string* error)
    {
        const bool good = ReadAlgo();
        *error = m_error;
        return good;
    }

  private:
    using Kind = XmlTag::Kind;

    bool Fail(uint32_t line, const std::string& problem)
    {
        m_error = m_name + ":" + std::to_string(line) + ": " + rdma::Shown(problem, 400);
        return false;
    }

    bool Next()
    {
        std::string problem;
        return m_tags.Next(&m_tag, &problem) || Fail(m_tags.Line(), problem);
    }

    /// An element of this name, with these attributes and no others.
    bool Expect(const std::string& name, const std::vector<std::string_view>& allowed)
    {
        if ((m_tag.kind != Kind::kOpen && m_tag.kind != Kind::kEmpty) || m_tag.name != name)
        {
            const std::string what = m_tag.kind == Kind::kEnd     ? "the file ends"
                                     : m_tag.kind == Kind::kClose ? "</" + Quoted() + ">"
                                                                  : "<" + Quoted() + ">";
            return Fail(m_tag.line, what + " where <" + name + "> is needed");
        }
        for (const auto& [attribute, value] : m_tag.attributes)
        {
            if (std::find(allowed.begin(), allowed.end(), attribute) == allowed.end())
            {
                std::string names;
                for (const auto& one : allowed)
                {
                    names += (names.empty() ? "" : ", ") + std::string(one);
                }
                return Fail(m_tag.line,
                            "<" + name + "> has no attribute " +
                                std::string(attribute.substr(0, 60)) + "; allowed: " + names);
            }
        }
        return true;
    }

    std::string Quoted() const
    {
        return std::string(m_tag.name.substr(0, 60));
    }

    /// Whether there are more elements of this one; takes its closing tag.
    bool More(const std::string& name, bool empty, bool* more)
    {
        *more = false;
        if (empty)
        {
            return true;
        }
        if (!Next())
        {
            return false;
        }
        if (m_tag.kind == Kind::kClose && m_tag.name == name)
        {
            return true;
        }
        if (m_tag.kind == Kind::kEnd)
        {
            return Fail(m_tag.line, "the file ends before </" + name + ">");
        }
        *more = true;
        return true;
    }

    const std::string* Find(std::string_view attribute) const
    {
        for (const auto& [name, value] : m_tag.attributes)
        {
            if (name == attribute)
            {
                return &value;
            }
        }
        return nullptr;
    }

    bool Word(std::string_view attribute, std::string* word)
    {
        const std::string* value = Find(attribute);
        if (!value)
        {
            return Fail(m_tag.line, "<" + Quoted() + "> without " + std::string(attribute));
        }
        *word = *value;
        return true;
    }

    bool Number(std::string_view attribute,
                int64_t least,
                int64_t most,
                int64_t* number,
                std::optional<int64_t> otherwise = std::nullopt)
    {
        const std::string* value = Find(attribute);
        if (!value && otherwise)
        {
            *number = *otherwise;
            return true;
        }
        std::string word;
        if (!Word(attribute, &word))
        {
            return false;
        }
        const char* end = word.data() + word.size();
        const auto [stopped, problem] = std::from_chars(word.data(), end, *number);
        if (problem != std::errc() || stopped != end || *number < least || *number > most)
        {
            return Fail(m_tag.line,
                        std::string(attribute) + "=\"" + word.substr(0, 60) + "\": allowed: " +
                            std::to_string(least) + " to " + std::to_string(most));
        }
        return true;
    }

    bool ReadAlgo()
    {
        if (!Next() || !Expect("algo",
                               {"name",
                                "ngpus",
                                "nchunksperloop",
                                "nchannels",
                                "coll",
                                "proto",
                                "redop",
                                "root",
                                "inplace",
                                "outofplace",
                                "minBytes",
                                "maxBytes"}))
        {
            return false;
        }
        int64_t gpus = 0;
        int64_t chunks = 0;
        int64_t root = 0;
        int64_t ignored = 0;
        std::string coll;
        if (!Number("ngpus", 1, kMostGpus, &gpus) ||
            !Number("nchunksperloop", 1, kMostProgramChunks, &chunks) || !Word("coll", &coll) ||
            !Number("root", 0, gpus - 1, &root, 0) ||
            !Number("nchannels", 0, INT32_MAX, &ignored, 0) ||
            !Number("inplace", 0, 1, &ignored, 0) || !Number("outofplace", 0, 1, &ignored, 0) ||
            !Number("minBytes", 0, INT64_MAX, &ignored, 0) ||
            !Number("maxBytes", 0, INT64_MAX, &ignored, 0))
        {
            return false;
        }
        const std::pair<std::string_view, Op> colls[] = {{"allreduce", Op::kAllReduce},
                                                         {"allgather", Op::kAllGather},
                                                         {"reduce_scatter", Op::kReduceScatter},
                                                         {"broadcast", Op::kBroadcast},
                                                         {"alltoall", Op::kAllToAll}};
        const auto* found = std::find_if(std::begin(colls), std::end(colls), [&](const auto& c) {
            return c.first == coll;
        });
        if (found == std::end(colls))
        {
            return Fail(m_tag.line,
                        "coll=\"" + coll.substr(0, 60) +
                            "\": allowed: allreduce, allgather, reduce_scatter, broadcast, "
                            "alltoall");
        }
        m_program.op = found->second;
        m_program.root = static_cast<Rank>(root);
        m_program.chunks = static_cast<uint64_t>(chunks);
        m_program.line = m_tag.line;
        const bool pieces = m_program.op == Op::kAllGather || m_program.op == Op::kReduceScatter ||
                            m_program.op == Op::kAllToAll;
        if (pieces && chunks % gpus != 0)
        {
            return Fail(m_tag.line,
                        std::to_string(chunks) + " chunks are no whole number for each of " +
                            std::to_string(gpus) + " GPUs");
        }
        m_program.gpus.resize(static_cast<std::size_t>(gpus));

        const bool empty = m_tag.kind == Kind::kEmpty;
        bool more = false;
        int64_t given = 0;
        while (More("algo", empty, &more) && more)
        {
            if (!ReadGpu())
            {
                return false;
            }
            given++;
        }
        if (!m_error.empty())
        {
            return false;
        }
        const uint32_t line = m_tag.line;
        if (!Next())
        {
            return false;
        }
        if (m_tag.kind != Kind::kEnd)
        {
            return Fail(m_tag.line, "something behind </algo>");
        }
        return given == gpus || Fail(line,
                                     std::to_string(given) + " <gpu> of " + std::to_string(gpus) +
                                         " that ngpus announces");
    }

    bool ReadGpu()
    {
        int64_t id = 0;
        int64_t scratch = 0;
        const auto all = static_cast<int64_t>(m_program.chunks);
        if (!Expect("gpu", {"id", "i_chunks", "o_chunks", "s_chunks"}) ||
            !Number("id", 0, static_cast<int64_t>(m_program.gpus.size()) - 1, &id) ||
            !Number("i_chunks", 0, all, &m_inputChunks, all) ||
            !Number("o_chunks", 0, all, &m_outputChunks, all) ||
            !Number("s_chunks", 0, kMostProgramChunks, &scratch, 0))
        {
            return false;
        }
        m_gpu = static_cast<Rank>(id);
        MscclGpu& gpu = m_program.gpus[m_gpu];
        if (gpu.given)
        {
            return Fail(m_tag.line, "<gpu> " + std::to_string(id) + " for the second time");
        }
        gpu.given = true;
        gpu.line = m_tag.line;
        gpu.scratch = static_cast<uint64_t>(scratch);
        std::unordered_set<int64_t> ids;
        const bool empty = m_tag.kind == Kind::kEmpty;
        bool more = false;
        while (More("gpu", empty, &more) && more)
        {
            MscclBlock block;
            const uint32_t line = m_tag.line;
            if (!ReadBlock(&block))
            {
                return false;
            }
            if (gpu.blocks.size() == kMostBlocks)
            {
                return Fail(line, "more than " + std::to_string(kMostBlocks) + " <tb> in a <gpu>");
            }
            if (!ids.insert(block.id).second)
            {
                return Fail(line, "<tb> " + std::to_string(block.id) + " for the second time");
            }
            gpu.blocks.push_back(std::move(block));
        }
        return m_error.empty();
    }

    bool ReadBlock(MscclBlock* block)
    {
        const auto most = static_cast<int64_t>(m_program.gpus.size()) - 1;
        int64_t send = -1;
        int64_t recv = -1;
        int64_t channel = 0;
        if (!Expect("tb", {"id", "send", "recv", "chan"}) ||
            !Number("id", 0, INT32_MAX, &block->id) || !Number("send", -1, most, &send) ||
            !Number("recv", -1, most, &recv) || !Number("chan", -1, kMaxChannels - 1, &channel))
        {
            return false;
        }
        block->line = m_tag.line;
        if (send == m_gpu || recv == m_gpu)
        {
            return Fail(m_tag.line, "a <tb> of GPU " + std::to_string(m_gpu) + " with itself");
        }
        if (channel < 0 && (send >= 0 || recv >= 0))
        {
            return Fail(m_tag.line, "a <tb> that sends or receives on chan=\"-1\"");
        }
        block->send = send < 0 ? kNoRank : static_cast<Rank>(send);
        block->recv = recv < 0 ? kNoRank : static_cast<Rank>(recv);
        block->channel = channel < 0 ? 0 : static_cast<uint32_t>(channel);
        const bool empty = m_tag.kind == Kind::kEmpty;
        bool more = false;
        while (More("tb", empty, &more) && more)
        {
            MscclStep step;
            if (!ReadStep(*block, &step))
            {
                return false;
            }
            block->steps.push_back(step);
        }
        return m_error.empty();
    }

    bool ReadStep(const MscclBlock& block, MscclStep* step)
    {
        using Type = MscclStep::Type;
        int64_t s = 0;
        int64_t count = 0;
        int64_t sourceOffset = 0;
        int64_t destinationOffset = 0;
        int64_t ignored = 0;
        std::string type;
        std::string source;
        std::string destination;
        if (!Expect("step",
                    {"s",
                     "type",
                     "srcbuf",
                     "srcoff",
                     "dstbuf",
                     "dstoff",
                     "cnt",
                     "depid",
                     "deps",
                     "hasdep"}) ||
            !Number("s", 0, INT32_MAX, &s) || !Word("type", &type) || !Word("srcbuf", &source) ||
            !Number("srcoff", -1, kMostProgramChunks, &sourceOffset) ||
            !Word("dstbuf", &destination) ||
            !Number("dstoff", -1, kMostProgramChunks, &destinationOffset) ||
            !Number("cnt", 0, kMostProgramChunks, &count) ||
            !Number("depid", -1, INT32_MAX, &step->afterBlock, -1) ||
            !Number("deps", -1, INT32_MAX, &step->afterStep, -1) ||
            !Number("hasdep", 0, 1, &ignored, 0))
        {
            return false;
        }
        step->line = m_tag.line;
        if (m_tag.kind == Kind::kOpen)
        {
            bool more = false;
            if (!More("step", false, &more))
            {
                return false;
            }
            if (more)
            {
                return Fail(m_tag.line, "<" + Quoted() + "> in a <step>");
            }
        }
        if (s != static_cast<int64_t>(block.steps.size()))
        {
            return Fail(step->line,
                        "step s=\"" + std::to_string(s) + "\" where " +
                            std::to_string(block.steps.size()) + " is next");
        }
        const std::pair<std::string_view, Type> types[] = {{"s", Type::kSend},
                                                           {"r", Type::kRecv},
                                                           {"rcs", Type::kRecvCopySend},
                                                           {"rrc", Type::kRecvReduceCopy},
                                                           {"rrs", Type::kRecvReduceSend},
                                                           {"rrcs", Type::kRecvReduceCopySend},
                                                           {"cpy", Type::kCopy},
                                                           {"re", Type::kReduce},
                                                           {"nop", Type::kNop}};
        const auto* found = std::find_if(std::begin(types), std::end(types), [&](const auto& t) {
            return t.first == type;
        });
        if (found == std::end(types))
        {
            return Fail(step->line,
                        "type=\"" + type.substr(0, 60) +
                            "\": allowed: s, r, rcs, rrc, rrs, rrcs, cpy, re, nop");
        }
        step->type = found->second;
        step->count = static_cast<uint64_t>(count);
        if (step->type == Type::kNop)
        {
            return true;
        }
        if (step->Sends() && block.send == kNoRank)
        {
            return Fail(step->line, "a send in a <tb> with send=\"-1\"");
        }
        if (step->Receives() && block.recv == kNoRank)
        {
            return Fail(step->line, "a receive in a <tb> with recv=\"-1\"");
        }
        if (count == 0)
        {
            return Fail(step->line, "cnt=\"0\": allowed: 1 and above");
        }
        const bool reads = step->type != Type::kRecv && step->type != Type::kRecvCopySend;
        const bool writes = step->type != Type::kSend && step->type != Type::kRecvReduceSend;
        bool intoInput = false;
        if (reads && !Chunk(*step, source, sourceOffset, "src", &step->source, &step->fromInput))
        {
            return false;
        }
        if (writes &&
            !Chunk(*step, destination, destinationOffset, "dst", &step->destination, &intoInput))
        {
            return false;
        }
        // The source of received data is in the sender's buffers.
        const bool announcedSource = !step->Receives();
        if ((announcedSource && !IsAnnounced(*step, source, sourceOffset, "src")) ||
            (step->type != Type::kSend &&
             !IsAnnounced(*step, destination, destinationOffset, "dst")))
        {
            return false;
        }
        return !intoInput || Fail(step->line, "writes into the input of an alltoall");
    }

    /// A step uses no more of a buffer than its <gpu> says: i_chunks and o_chunks are what all of
    /// its steps use, or more (microsoft/msccl-tools, msccl/language/ir.py, ir_to_xml).
    bool IsAnnounced(const MscclStep& step,
                     const std::string& buffer,
                     int64_t offset,
                     const std::string& which)
    {
        const bool input = buffer == "i";
        const int64_t chunks = input ? m_inputChunks : m_outputChunks;
        if ((!input && buffer != "o") || offset < 0 ||
            offset + static_cast<int64_t>(step.count) <= chunks)
        {
            return true; // Chunk() reports problems of other buffers
        }
        return Fail(step.line,
                    which + "off=\"" + std::to_string(offset) + "\" and cnt=\"" +
                        std::to_string(step.count) + "\" where the <gpu> has " +
                        (input ? "i_chunks=\"" : "o_chunks=\"") + std::to_string(chunks) + "\"");
    }

    /// Where chunks of a buffer stand.
    bool Chunk(const MscclStep& step,
               const std::string& buffer,
               int64_t offset,
               const std::string& which,
               uint64_t* chunk,
               bool* input)
    {
        const uint64_t all = m_program.chunks;
        const uint64_t piece = all / m_program.gpus.size();
        uint64_t begin = 0;
        uint64_t size = all;
        if (buffer == "s")
        {
            begin = all;
            size = m_program.gpus[m_gpu].scratch;
        }
        else if (buffer == "i" || buffer == "o")
        {
            if ((buffer == "i" && m_program.op == Op::kAllGather) ||
                (buffer == "o" && m_program.op == Op::kReduceScatter))
            {
                begin = m_gpu * piece;
                size = piece;
            }
            *input = buffer == "i" && m_program.op == Op::kAllToAll;
        }
        else
        {
            return Fail(step.line,
                        which + "buf=\"" + buffer.substr(0, 60) + "\": allowed: i, o, s");
        }
        if (offset < 0 || static_cast<uint64_t>(offset) + step.count > size)
        {
            return Fail(step.line,
                        which + "off=\"" + std::to_string(offset) + "\" and cnt=\"" +
                            std::to_string(step.count) + "\" in a buffer of " +
                            std::to_string(size) + " chunks");
        }
        *chunk = begin + static_cast<uint64_t>(offset);
        return true;
    }

    XmlTags m_tags;
    const std::string& m_name;
    MscclProgram& m_program;
    XmlTag m_tag;
    Rank m_gpu = 0;
    int64_t m_inputChunks = 0;  ///< number of input chunks, as the GPU's tag has it
    int64_t m_outputChunks = 0; ///< the same
    std::string m_error;
};

} // namespace

bool
ParseMscclProgram(const std::string& text,
                  const std::string& name,
                  MscclProgram* program,
                  std::string* error)
{
    *program = MscclProgram();
    return Reader(text, name, program).Read(error);
}

} // namespace coll
