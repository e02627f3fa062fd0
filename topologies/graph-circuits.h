/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Circuit switches of a graph in JSON:
 *
 *     "nodes": [{"name": "ocs-0", "kind": "circuit-switch"}, ...],
 *     "links": [{"from": "tor-0", "to": "ocs-0"}, ...],          a fibre; the first is port 0
 *     "circuits": {
 *       "dark": "10us", "drain": "5us",                          optional: 0
 *       "changes": [
 *         {"at": "0s", "connect": [["tor-0", "tor-1"], ["ocs-0:2", "ocs-0:3"]]},
 *         {"at": "5ms", "connect": [["tor-0", "tor-2"]], "disconnect": ["tor-1"]}
 *       ],
 *       "every": "10ms", "until": "1s"                           optional: the changes repeat
 *     }
 *
 * A port of a circuit switch is "ocs-0:2", or the name of the packet switch at its fibre if that
 * has only one: of all circuit switches, or of the one that the change names ("switch": "ocs-0").
 * "connect" ends the circuits that its ports have; ports that a change does not name stay as they
 * are. Before the first change all are dark.
 *
 * A circuit has the lower rate of its two fibres, the sum of their delays, the errors of both. As
 * links, circuits come behind all others, in the order in which changes make them first.
 */
#ifndef TOPOLOGIES_GRAPH_CIRCUITS_H
#define TOPOLOGIES_GRAPH_CIRCUITS_H

#include "topologies/circuits.h"
#include "topologies/json-reader.h"
#include "topologies/topology.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace topo
{
namespace detail
{

class CircuitReader
{
  public:
    /// The far end of a port of a circuit switch.
    struct Fibre
    {
        uint32_t circuitSwitch = 0;
        NodeId node = 0; ///< a packet switch
        rdma::BitRate rate;
        rdma::Duration delay;
        double bitErrorRate = 0;
        uint32_t link = 0; ///< its number in the file
        bool from = true;  ///< the packet switch is the link's "from"
    };

    void AddSwitch(const std::string& name);
    /// \return its number, in file order
    std::optional<uint32_t> FindSwitch(const std::string& name) const;
    /// Its port is the next one of its circuit switch.
    void AddFibre(Fibre fibre);

    /// The key "circuits": makes the links. \param settings called for each link with the fibres
    /// of its ends a and b \return the plan; nothing if there is none, or errors
    std::optional<CircuitPlan> Read(
        JsonObject& root,
        Topology& t,
        const std::function<void(LinkId, const Fibre& a, const Fibre& b)>& settings);

  private:
    bool ReadChange(JsonObject in, Topology& t);
    /// \return a port by its number among all fibres
    std::optional<uint32_t> FindPort(JsonObject& in,
                                     const std::string& below,
                                     const std::string& text,
                                     std::optional<uint32_t> of,
                                     const Topology& t) const;
    void Free(uint32_t port);
    bool Connect(JsonObject& in, const std::string& below, uint32_t a, uint32_t b, Topology& t);
    std::vector<uint32_t> Lit() const;
    bool CheckTimes(JsonObject& in, const CircuitPlan& plan) const;

    std::vector<std::string> m_switches;
    std::vector<Fibre> m_fibres;
    std::vector<std::vector<uint32_t>> m_ports;              ///< by circuit switch and port: fibre
    std::map<std::pair<uint32_t, uint32_t>, LinkId> m_links; ///< by fibres, the smaller one first
    std::vector<std::optional<uint32_t>> m_peer;             ///< by fibre: the one it is joined to
    std::function<void(LinkId, const Fibre&, const Fibre&)> m_settings;
};

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_GRAPH_CIRCUITS_H
