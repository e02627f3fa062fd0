/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/hpcc-format.h"

#include "topologies/formats/link-file.h"
#include "topologies/names.h"

#include <utility>

namespace topo
{

namespace
{

class HpccReader : private LinkFileReader
{
  public:
    HpccReader(const std::string& text, const std::string& name)
        : LinkFileReader(text, name),
          m_hasRacks(HasRacks(text))
    {
    }

    TopologyResult Read()
    {
        Topology t;
        if (ReadAll(t))
        {
            m_result.topology = std::move(t);
        }
        return std::move(m_result);
    }

  private:
    /// Whether the first line has four numbers, and the next one ids of switches alone: with three,
    /// a fourth is an id, and the next line a link.
    static bool HasRacks(const std::string& text);
    bool ReadAll(Topology& t);
    /// \return the NodeId of each number
    std::vector<NodeId> AddNodes(Topology& t,
                                 const std::vector<bool>& isHost,
                                 const std::vector<FileLink>& links);

    const bool m_hasRacks;
};

bool
HpccReader::HasRacks(const std::string& text)
{
    constexpr uint64_t kMost = UINT64_MAX / 10 - 1;
    FileWords words(text);
    std::vector<FileWord> head;
    FileWord word = words.Next();
    for (const uint32_t line = word.line; !word.text.empty() && word.line == line;
         word = words.Next())
    {
        head.push_back(word);
    }
    bool whole = head.size() == 4;
    for (const uint32_t line = word.line; !word.text.empty() && word.line == line;
         word = words.Next())
    {
        whole = whole && ParseWhole(word.text, kMost);
    }
    return whole;
}

std::vector<NodeId>
HpccReader::AddNodes(Topology& t,
                     const std::vector<bool>& isHost,
                     const std::vector<FileLink>& links)
{
    std::vector<bool> isLinked(isHost.size(), false);
    for (const FileLink& link : links)
    {
        isLinked[link.a] = isLinked[link.b] = true;
    }
    const std::vector<uint8_t> tier = TiersFromHosts(isHost, links);
    std::vector<NodeId> nodeOf(isHost.size(), kNoNode);
    uint64_t apart = 0;
    std::string first;
    for (uint32_t n = 0; n < isHost.size(); ++n)
    {
        const std::string number = std::to_string(n);
        if (!isHost[n])
        {
            nodeOf[n] = t.AddSwitch("switch-" + number, tier[n]);
        }
        else if (isLinked[n])
        {
            nodeOf[n] = t.AddHost("server-" + number);
        }
        else
        {
            first = apart++ == 0 ? number : first;
        }
    }
    if (apart > 0)
    {
        m_result.notes.push_back(m_name + ": " + Counted(apart, "host") +
                                 " without a link left out" +
                                 (apart == 1 ? ": " : ", the first: ") + first);
    }
    return nodeOf;
}

bool
HpccReader::ReadAll(Topology& t)
{
    uint64_t nodes = 0;
    uint64_t switches = 0;
    uint64_t racks = 0;
    uint64_t links = 0;
    if (!Number("the number of nodes", detail::kMostNodes, nodes) ||
        !Number("the number of switches", nodes, switches) ||
        (m_hasRacks && !Number("the number of top-of-rack switches", nodes, racks)) ||
        !Number("the number of links", detail::kMostLinks, links))
    {
        return false;
    }
    std::vector<bool> isHost(nodes, false); // first: is a switch
    std::vector<FileLink> read;
    if (!ReadIds("switch", switches, isHost) || !ReadLinks(nodes, links, read))
    {
        return false;
    }
    NoteLosses({&read});
    isHost.flip();
    Description about;
    about.nodeOfNumber = AddNodes(t, isHost, read);
    for (const FileLink& link : read)
    {
        t.Connect(about.nodeOfNumber[link.a],
                  about.nodeOfNumber[link.b],
                  link.rate,
                  link.delay,
                  link.bitErrorRate);
    }
    t.Describe(std::move(about));
    return true;
}

} // namespace

TopologyResult
ReadHpccTopology(const std::string& text, const std::string& name)
{
    return HpccReader(text, name).Read();
}

namespace
{

/// "a graph in JSON, a topology file of HPCC's ns-3 code, ..."
std::string
KindsOfFiles()
{
    std::string text;
    for (const Family& family : Families())
    {
        text += family.file.empty() ? "" : (text.empty() ? "" : ", ") + family.file;
    }
    return text;
}

/// Reads what no other family reads. A file that does not begin with a number is none of HPCC's.
TopologyResult
ReadOther(const std::string& text, const std::string& name)
{
    const FileWord first = FileWords(text).Next();
    if (first.text.empty() || ParseWhole(first.text, UINT64_MAX / 10 - 1))
    {
        return ReadHpccTopology(text, name);
    }
    TopologyResult result;
    result.errors.push_back({"file",
                             Quoted(name),
                             "is no topology file of a known kind; allowed: " + KindsOfFiles(),
                             ""});
    return result;
}

Family
Hpcc()
{
    Family f("hpcc", "any network, from a topology file of HPCC's ns-3 code and its descendants");
    f.file = "a topology file of HPCC's ns-3 code";
    f.make = [](const TopologyRequest& r) { return detail::MakeFromFile(r, ReadOther); };
    return f;
}

const RegisteredFamily g_hpcc(Hpcc());

} // namespace

} // namespace topo
