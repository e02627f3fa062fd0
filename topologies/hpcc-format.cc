/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/hpcc-format.h"

#include "topologies/link-file.h"

namespace topo
{

namespace
{

class HpccReader : private LinkFileReader
{
  public:
    using LinkFileReader::LinkFileReader;

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
    bool ReadAll(Topology& t);
};

bool
HpccReader::ReadAll(Topology& t)
{
    uint64_t nodes = 0;
    uint64_t switches = 0;
    uint64_t links = 0;
    if (!Number("the number of nodes", detail::kMostNodes, nodes) ||
        !Number("the number of switches", nodes, switches) ||
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
    const std::vector<uint8_t> tier = TiersFromHosts(isHost, read);
    for (NodeId n = 0; n < nodes; ++n)
    {
        if (isHost[n])
        {
            t.AddHost("server-" + std::to_string(n));
        }
        else
        {
            t.AddSwitch("switch-" + std::to_string(n), tier[n]);
        }
    }
    for (const FileLink& link : read)
    {
        t.Connect(link.a, link.b, link.rate, link.delay, link.bitErrorRate);
    }
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

TopologyResult
MakeHpcc(const TopologyRequest& r)
{
    TopologyResult result = detail::MakeFromFile(r, ReadHpccTopology);
    if (result.topology)
    {
        Description about;
        about.numberedNodes = true;
        result.topology->Describe(std::move(about));
    }
    return result;
}

Family
Hpcc()
{
    Family f("hpcc", "any network, from a topology file of HPCC's ns-3 code and its descendants");
    f.file = "a topology file of HPCC's ns-3 code";
    f.make = MakeHpcc;
    return f;
}

const RegisteredFamily g_hpcc(Hpcc());

} // namespace

} // namespace topo
