// A client and a server of scheduler-sniffer's protocol, made from nothing but its field list: what other people's
// programs are. `sniffer send ADDRESS` reads messages as JSON objects, one a line, and sends each over a connection of
// its own, as the patched scheduler does; `sniffer serve ADDRESS` prints where it listens, and then what it is sent.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var fields = []string{"endpoint", "pod", "node", "event", "payload", "timestamp"} // numbered from 1

func messages() (request, response protoreflect.MessageDescriptor) {
	kind, label := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
	var described []*descriptorpb.FieldDescriptorProto
	for index, name := range fields {
		described = append(described, &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(int32(index + 1)), Type: &kind, Label: &label,
		})
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("sniffer.proto"), Package: proto.String("api"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("SendRequest"), Field: described},
			{Name: proto.String("SendResponse")},
		},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	return file.Messages().ByName("SendRequest"), file.Messages().ByName("SendResponse")
}

func send(address string) error {
	request, response := messages()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		told := map[string]string{}
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			return err
		}
		message := dynamicpb.NewMessage(request)
		for name, text := range told {
			message.Set(request.Fields().ByName(protoreflect.Name(name)), protoreflect.ValueOfString(text))
		}
		connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		err = connection.Invoke(ctx, "/api.SnifferService/Send", message, dynamicpb.NewMessage(response))
		cancel()
		connection.Close()
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

func serve(address string) error {
	request, response := messages()
	var one sync.Mutex
	take := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		message := dynamicpb.NewMessage(request)
		if err := decode(message); err != nil {
			return nil, err
		}
		told := map[string]string{}
		for _, name := range fields {
			told[name] = message.Get(request.Fields().ByName(protoreflect.Name(name))).String()
		}
		line, err := json.Marshal(told)
		if err != nil {
			return nil, err
		}
		one.Lock()
		defer one.Unlock()
		fmt.Println(string(line))
		return dynamicpb.NewMessage(response), nil
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "api.SnifferService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Send", Handler: take}},
	}, nil)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return server.Serve(listener)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: sniffer send|serve ADDRESS")
	}
	run := map[string]func(string) error{"send": send, "serve": serve}[os.Args[1]]
	if run == nil {
		log.Fatalf("%s is neither send nor serve", os.Args[1])
	}
	if err := run(os.Args[2]); err != nil {
		log.Fatal(err)
	}
}
