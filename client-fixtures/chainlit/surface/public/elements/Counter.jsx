import { Button } from "@/components/ui/button";

export default function Counter() {
  return (
    <div className="counter flex items-center gap-2">
      <span className="count">counted to {props.count}</span>
      <Button onClick={() => updateElement({ ...props, count: props.count + 1 })}>More</Button>
      <Button onClick={() => callAction({ name: "press", payload: { n: props.count } })}>Tell</Button>
      <Button onClick={() => sendUserMessage(`I have ${props.count}`)}>Say</Button>
      <Button onClick={() => deleteElement()}>Away</Button>
    </div>
  );
}
