/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/scale-up-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/scale-up.h"
#include "topologies/names.h"
#include "topologies/scale-up/scale-up-packets.h"

#include <memory>
#include <string>

namespace scenario
{

std::vector<Option>
ScaleUpOptionRows()
{
    const Section section{"/fabric", "Fabric"};
    const Section packets = section.Only(when::ScaleUpPackets());
    return {
        section.Name("scale-up", "how messages go over the links between the GPUs of a server")
            .As(&asked::ScaleUp::as)
            .Names("scale-up",
                   {{"messages", "by a law: the pairs of GPUs share ports max-min fairly"},
                    {"packets",
                     "in frames of flits, with queues and credits at the server's switch; slower"}})
            .Default("messages")
            .Example("packets"),
        packets
            .Bytes("scale-up-frame",
                   "data of a frame, a multiple of 256B: each 256 B of them have a flit of header")
            .As(&asked::ScaleUp::frame)
            .Otherwise("4KiB")
            .Range(256, 65536)
            .Example("256B"),
        packets
            .Bytes("scale-up-buffer",
                   "an input buffer of the server's switch: credits are for as much")
            .As(&asked::ScaleUp::buffer)
            .Otherwise("twice the bytes of a round trip of credits")
            .Range(272, 1e12)
            .Example("64KiB"),
    };
}

void
ApplyScaleUp(Validation* v, ClusterSpec* cluster)
{
    const Values& values = v->values;
    if (!values.Has(&asked::ScaleUp::as))
    {
        return;
    }
    v->Settle(&asked::ScaleUp::as);
    const bool packets = values.Get(&asked::ScaleUp::as) == "packets";
    std::vector<const topo::ServerSpec*> servers{&cluster->server};
    for (const ServerKind& kind : cluster->kinds)
    {
        servers.push_back(&kind.server);
    }
    for (const topo::ServerSpec* server : servers)
    {
        const topo::ScaleUp& links = server->scaleUp;
        if (!packets && links.rack != 0 && links.rack < server->gpus)
        {
            v->notes.push_back("the " + topo::Counted(links.rack, "GPU") + " of a rack of " +
                               server->name +
                               " reach all others at their full rate: racks are for " +
                               Spell(&asked::ScaleUp::as) + "=packets");
            return;
        }
        if (packets && (server->gpus < 2 || links.kind != topo::ScaleUp::kNvSwitch))
        {
            v->Fail(&asked::ScaleUp::as,
                    server->gpus < 2
                        ? "needs several GPUs a server, here is 1; allowed: messages, or more " +
                              Spell(&asked::Cluster::gpusPerServer)
                        : "needs a switch between the GPUs of a server (nvswitch); " +
                              server->name + " has " + ToString(links.kind) +
                              "; allowed: messages");
            return;
        }
    }
    if (!packets)
    {
        return;
    }
    auto frames = std::make_shared<topo::ScaleUpFrames>();
    if (values.Has(&asked::ScaleUp::frame))
    {
        frames->frame = values.Get(&asked::ScaleUp::frame);
        const uint64_t payload = frames->payload.value;
        if (frames->frame.value % payload != 0)
        {
            v->Fail(&asked::ScaleUp::frame,
                    "is no multiple of 256B; allowed: 256B, 512B, ..., 64KiB",
                    std::to_string((frames->frame.value + payload / 2) / payload * payload) + "B");
        }
    }
    if (values.Has(&asked::ScaleUp::buffer))
    {
        frames->buffer = values.Get(&asked::ScaleUp::buffer);
        const uint64_t least = frames->frame.value / frames->payload.value *
                               (frames->payload.value + frames->flit.value);
        if (frames->buffer.value < least)
        {
            v->Fail(&asked::ScaleUp::buffer,
                    "has no room for a frame of " + std::to_string(frames->frame.value) +
                        " B with its headers; allowed: from " + std::to_string(least) + "B",
                    std::to_string(least) + "B");
        }
    }
    cluster->scaleUpFrames = frames;
}

} // namespace scenario
